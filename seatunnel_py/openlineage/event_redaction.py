"""Masks secrets in an event, but not in the words that OpenLineage or we fix.

A short password such as ``postgres`` or ``seatunnel`` is such a word, too. With it masked, an event is not valid or
names another dataset, and the mask in the place of a known word reveals the password.
"""

from __future__ import annotations

import re
from typing import Any

from seatunnel_py.openlineage.job_datasets import OWN_NAMESPACE
from seatunnel_py.redaction import MASK, redacted_text, with_texts

_FIXED = frozenset(
    {
        "_producer",
        "_schemaURL",
        "eventTime",
        "eventType",
        "processingType",
        "producer",
        "runId",
        "schemaURL",
        "subtype",
        "type",
    }
)
"""Fields whose values no user writes."""
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*")


def redacted_event(event: Any) -> Any:
    """Mask the secrets in plain data of an event."""
    return with_texts(event, _redacted)


def _redacted(text: str, field: str) -> str:
    """Mask the secrets of a text, but for the scheme of an address."""
    if field in _FIXED or text == OWN_NAMESPACE:
        return text
    shown = redacted_text(text)
    scheme, _, _ = text.partition("://")
    if shown.startswith(f"{MASK}://") and _SCHEME.fullmatch(scheme):
        return scheme + shown.removeprefix(MASK)
    return shown
