"""Masks secrets in text: options that look like secrets, secrets in URLs, and every secret registered in this process
(S1).

Client libraries and plugins quote their input in their own words, so the value of a secret option is masked everywhere.
Code that reads a secret registers it (``keep_secret``); code that makes a text for users, a log or a store masks the
text first. Errors, problems and failures mask their texts when they are made.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial
from typing import Any
from urllib.parse import quote, quote_plus, unquote

MASK = "******"

CHARACTERS_MIN = 4
"""A shorter secret is part of half of all words: masking it would hide them, and reveal the secret."""

SUBSTRING_CHARACTERS_MIN = 10
"""A shorter secret is masked only as a whole word: with the password ``postgres`` the name of the driver stays
readable."""

CHARACTERS_REMEMBERED = 200
_WITHOUT_TEXT = frozenset({int, float, bool, type(None)})
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


class _KeptSecrets:
    """The secrets of this process, and the pattern that finds them. Secrets are only ever added: several jobs may run
    in one process, and the text of one may reach the log of another."""

    def __init__(self) -> None:
        self._texts: frozenset[str] = frozenset()
        self._use(None)

    def add(self, texts: Iterable[str]) -> None:
        known = (text for text in texts if len(text) >= CHARACTERS_MIN)
        more = {spelling for text in known for spelling in spellings(text)} - self._texts
        if more:
            self._texts |= more
            # Longest first: one secret may be a prefix of another.
            self._use(re.compile("|".join(map(pattern_of, sorted(self._texts, key=len, reverse=True)))))

    def _use(self, pattern: re.Pattern[str] | None) -> None:
        """Search with this pattern. Events name the same tables, steps and states again and again, so short answers are
        remembered, with the pattern that gave them: one that was given before a secret was known is not found after."""
        self.masked = partial(_masked, pattern)
        self.redacted = partial(_redacted, pattern)
        self.redacted_short = lru_cache(maxsize=4096)(self.redacted)


def _masked(pattern: re.Pattern[str] | None, text: str) -> str:
    return pattern.sub(MASK, text) if pattern else text


def _redacted(pattern: re.Pattern[str] | None, text: str) -> str:
    text = _masked(pattern, text)
    if "://" not in text and "=" not in text:
        return text  # nearly every log line: neither pattern can match
    return _PARAMETER.sub(rf"\1{MASK}", _USER_INFO.sub(rf"\1{MASK}@", text))


def spellings(secret: str) -> set[str]:
    """Return a secret as it is, and as JSON, Python, SQL and URLs escape it: a quoting library may have escaped it."""
    as_json = (json.dumps(secret, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False))
    return {secret, *as_json, repr(secret)[1:-1], secret.replace("'", "''"), quote(secret, safe=""), quote_plus(secret)}


def pattern_of(secret: str) -> str:
    """Build the pattern that finds a secret in a text."""
    pattern = re.escape(secret)
    return pattern if len(secret) >= SUBSTRING_CHARACTERS_MIN else rf"(?<!\w){pattern}(?!\w)"


_kept = _KeptSecrets()


def keep_secret(texts: Iterable[str]) -> None:
    """Mask these in every text that is shown from now on."""
    _kept.add(texts)


def masked_text(text: str) -> str:
    """Mask the known secrets in a text of our own, which may show a URL as an example."""
    return _kept.masked(text)


def is_secret(name: str) -> bool:
    """Whether the value of the option with that (dotted) name is a secret everywhere. The class that provides
    credentials is not one: its name is needed to explain that it cannot be found."""
    return _SECRET_NAME.search(name) is not None and not name.casefold().endswith((".provider", ".class"))


def is_sensitive(name: str) -> bool:
    """Whether the value of the option with that (dotted) name is hidden; user names are, but may appear in messages."""
    return is_secret(name) or _PERSON_NAME.search(name) is not None


def secrets_in(address: str) -> frozenset[str]:
    """Return the passwords in a URL, as written and decoded."""
    found = {match[2].partition(":")[2] for match in _USER_INFO.finditer(address)}
    for match in _PARAMETER.finditer(address):
        if is_secret(match[1].strip("?&;=")):
            found.add(match[2])
    return frozenset({*found, *map(unquote, found)} - {""})


def redacted_text(text: str) -> str:
    """Mask the known secrets in a foreign text, and the user-info and the secret parameters of its URLs."""
    return _kept.redacted_short(text) if len(text) <= CHARACTERS_REMEMBERED else _kept.redacted(text)


def redacted_plain(value: Any) -> Any:
    """Redact the texts of plain data. Works on values, not on a finished text: there a secret with a quote in it would
    be escaped."""
    return with_texts(value, lambda text, _: redacted_text(text))


def with_texts(value: Any, changed: Callable[[str, str], str], field: str = "") -> Any:
    """Plain data with each text changed. ``changed``: gets a text, and the name of the field that it stands under."""
    if type(value) in _WITHOUT_TEXT:  # the match below would ask the abstract ``Mapping`` about each number
        return value
    match value:
        case str():
            return changed(value, field)
        case Mapping():
            return {key: with_texts(item, changed, key) for key, item in value.items()}
        case list() | tuple():
            return [with_texts(item, changed, field) for item in value]
    return value


def redacted_value(name: str, value: Any) -> Any:
    """Return a value as a ``repr`` may show it, under the name of its option."""
    if isinstance(value, Mapping):
        return {key: redacted_value(f"{name}.{key}", item) for key, item in value.items()}
    if isinstance(value, str | int | float) and not isinstance(value, bool) and is_sensitive(name):
        return MASK
    if isinstance(value, list | tuple):
        return type(value)(redacted_value(name, item) for item in value)
    return redacted_text(value) if type(value) is str else value
