"""What must not be printed: options that sound like secrets, and the secrets in addresses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

MASK = "******"

_SENSITIVE_NAME = re.compile(
    r"password|passwd|passphrase|secret|credential|authorization|jaas|token$"
    r"|(?:api|access|private|account|shared)[._-]?key|(?:^|[._-])(?:user|username|auth|pwd)$",
    re.IGNORECASE,
)
_USER_INFO = re.compile(r"(://)[^/\s@\"']++@")
_PARAMETER = re.compile(
    r"([?&;](?:[\w.-]*(?:password|passwd|secret|token|credential|signature)"
    r"|user|username|pwd|auth|sig|(?:api|access)[_-]?key)=)[^&;\s\"']+",
    re.IGNORECASE,
)


def is_sensitive(name: str) -> bool:
    """Whether an option of that (dotted) name may hold a secret."""
    return _SENSITIVE_NAME.search(name) is not None


def redacted_text(text: str) -> str:
    """The text without the user-info and the secret parameters of addresses in it."""
    if "://" not in text and "=" not in text:
        return text  # nearly all of a log: neither pattern can be found
    return _PARAMETER.sub(rf"\1{MASK}", _USER_INFO.sub(rf"\1{MASK}@", text))


def redacted_value(name: str, value: Any) -> Any:
    """A value as a ``repr`` may show it, under the name of its option."""
    if isinstance(value, Mapping):
        return {key: redacted_value(f"{name}.{key}", item) for key, item in value.items()}
    if isinstance(value, str | int | float) and not isinstance(value, bool) and is_sensitive(name):
        return MASK
    if isinstance(value, list | tuple):
        return type(value)(redacted_value(name, item) for item in value)
    return redacted_text(value) if type(value) is str else value
