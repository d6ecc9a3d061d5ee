"""What must not be printed: options that sound like secrets, the secrets in addresses, and every secret that this
process was told of (S1).

Client libraries and plugins quote what they were given, in words of their own, so that what a secret option holds is
masked wherever it stands. Who reads a secret says so (``keep_secret``); who makes a text for people, a log or a store
asks for it as it may be shown. Errors, problems and failures do so when they are made.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote, quote_plus, unquote

MASK = "******"

CHARACTERS_MIN = 4
"""A shorter secret stands in half of all words: to mask it would hide them, and show what it is."""

SUBSTRING_CHARACTERS_MIN = 10
"""A shorter secret is masked as a word of its own only: who calls a password ``postgres`` wants to read the name of the
driver all the same."""

_SECRET_NAME = re.compile(
    r"password|passwd|passphrase|secret|credential|authorization|jaas|token$"
    r"|(?:api|access|private|account|shared)[._-]?key|(?:^|[._-])pwd$",
    re.IGNORECASE,
)
_PERSON_NAME = re.compile(r"(?:^|[._-])(?:user|username|auth)$", re.IGNORECASE)
_USER_INFO = re.compile(r"(://)([^/\s@\"']++)@")
_PARAMETER = re.compile(
    r"([?&;](?:[\w.-]*(?:password|passwd|secret|token|credential|signature)"
    r"|user|username|pwd|auth|sig|(?:api|access)[_-]?key)=)([^&;\s\"']+)",
    re.IGNORECASE,
)


class _Kept:
    """The secrets of this process, and the pattern that finds them. They only become more: several jobs may run in one
    process, and the text of one may reach the log of another."""

    def __init__(self) -> None:
        self._texts: frozenset[str] = frozenset()
        self._pattern: re.Pattern[str] | None = None

    def add(self, texts: Iterable[str]) -> None:
        known = (text for text in texts if len(text) >= CHARACTERS_MIN)
        more = {spelling for text in known for spelling in spellings(text)} - self._texts
        if more:
            self._texts |= more
            # The longest first: one secret may be the beginning of another.
            self._pattern = re.compile("|".join(map(pattern_of, sorted(self._texts, key=len, reverse=True))))

    def masked(self, text: str) -> str:
        return self._pattern.sub(MASK, text) if self._pattern else text


def spellings(secret: str) -> set[str]:
    """A secret as it is, and as JSON, Python, SQL and addresses escape it: who quotes it may have escaped it before."""
    as_json = (json.dumps(secret, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False))
    return {secret, *as_json, repr(secret)[1:-1], secret.replace("'", "''"), quote(secret, safe=""), quote_plus(secret)}


def pattern_of(secret: str) -> str:
    """What finds a secret in a text."""
    pattern = re.escape(secret)
    return pattern if len(secret) >= SUBSTRING_CHARACTERS_MIN else rf"(?<!\w){pattern}(?!\w)"


_kept = _Kept()


def keep_secret(texts: Iterable[str]) -> None:
    """From now on these are masked in every text that is shown."""
    _kept.add(texts)


def masked_text(text: str) -> str:
    """The text without the secrets that are known: for words of our own, which may show an address as an example."""
    return _kept.masked(text)


def is_secret(name: str) -> bool:
    """Whether what an option of that (dotted) name holds is a secret wherever it stands. The class that provides
    credentials is none: who reads that it cannot be found wants to know its name."""
    return _SECRET_NAME.search(name) is not None and not name.casefold().endswith((".provider", ".class"))


def is_sensitive(name: str) -> bool:
    """Whether an option of that (dotted) name is not shown; names of users are not, but may stand in a message."""
    return is_secret(name) or _PERSON_NAME.search(name) is not None


def secrets_in(address: str) -> frozenset[str]:
    """The passwords that stand in an address, as they are written there and as they are."""
    found = {match[2].partition(":")[2] for match in _USER_INFO.finditer(address)}
    for match in _PARAMETER.finditer(address):
        if is_secret(match[1].strip("?&;=")):
            found.add(match[2])
    return frozenset({*found, *map(unquote, found)} - {""})


def redacted_text(text: str) -> str:
    """The text of somebody else without the secrets that are known, and without the user-info and the secret parameters
    of addresses."""
    text = masked_text(text)
    if "://" not in text and "=" not in text:
        return text  # nearly all of a log: neither pattern can be found
    return _PARAMETER.sub(rf"\1{MASK}", _USER_INFO.sub(rf"\1{MASK}@", text))


def redacted_plain(value: Any) -> Any:
    """Plain data whose texts are redacted. On values, not on a finished text: there a secret with a quote in it would
    be escaped."""
    match value:
        case str():
            return redacted_text(value)
        case Mapping():
            return {key: redacted_plain(item) for key, item in value.items()}
        case list() | tuple():
            return [redacted_plain(item) for item in value]
    return value


def redacted_value(name: str, value: Any) -> Any:
    """A value as a ``repr`` may show it, under the name of its option."""
    if isinstance(value, Mapping):
        return {key: redacted_value(f"{name}.{key}", item) for key, item in value.items()}
    if isinstance(value, str | int | float) and not isinstance(value, bool) and is_sensitive(name):
        return MASK
    if isinstance(value, list | tuple):
        return type(value)(redacted_value(name, item) for item in value)
    return redacted_text(value) if type(value) is str else value
