"""Writes and parses dotted paths, checks file names, and compares names as a target does.

A table name with a dot is quoted in a dotted path. A name never leads out of its directory in a file path. Two names
that a target takes for the same have the same key (:class:`NameRules`). Lineage events name data in the same way as
other systems do (:class:`Dataset`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

_PART = re.compile(r'(?:[^."`]+|"(?:[^"]|"")*"|`(?:[^`]|``)*`)+')
_QUOTED = re.compile(r'"((?:[^"]|"")*)"|`((?:[^`]|``)*)`')
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
STAGING_DIRECTORY = ".seatunnel"


def written(name: str) -> str:
    """Return a name as one part of a dotted path, in double quotes if needed."""
    if name.isidentifier():
        return name
    bare = name and not set(name) & {".", '"', "`"} and name == name.strip()
    return name if bare else '"' + name.replace('"', '""') + '"'


@lru_cache(maxsize=4096)  # of each table many times, for events and plans
def dotted(*names: str) -> str:
    """Join the names that are not empty to a dotted path."""
    return ".".join(written(name) for name in names if name)


def divided(text: str) -> list[str]:
    """Split a dotted path into names, which may be in double quotes or backticks. Raises ValueError for an open
    quote."""
    if '"' not in text and "`" not in text:
        return text.split(".")
    names, at = [], 0
    while True:
        match = _PART.match(text, at)
        end = match.end() if match else at
        names.append(_QUOTED.sub(_unquoted, text[at:end]))
        if end == len(text):
            return names
        if text[end] != ".":
            raise ValueError(
                f'{text!r} has a quote that is not closed: write a name that contains a quote as "we""ird"'
            )
        at = end + 1


def globbed(names: Iterable[str], *, whole: bool = False) -> str:
    """Return one regular expression that matches any of these dotted names, where ``*`` matches anything. Unless
    ``whole``, the names may lack the schema and the database."""
    plain = (".".join(divided(name)) for name in names)
    patterns = "|".join(".*".join(map(as_pattern, name.split("*"))) for name in plain)
    return patterns if whole else f"(?:.*[.])?({patterns})"


def as_pattern(text: str) -> str:
    """Escape a text for a job file's patterns, with ``[.]`` for a dot."""
    return "[.]".join(map(re.escape, text.split(".")))


def _unquoted(match: re.Match[str]) -> str:
    return match[1].replace('""', '"') if match[1] is not None else match[2].replace("``", "`")


class Naming(StrEnum):
    """Kind of name that an option holds, which decides how placeholders are filled in: a table (dotted path), a
    directory (path with slashes), a single plain name (topic, prefix), or file names below a directory."""

    TABLE = "table"
    DIRECTORY = "directory"
    PLAIN = "plain"
    FILE = "file"


def filled(naming: Naming | None, *names: str) -> str:
    """Return the text that these names become in an option of that kind. Raises ValueError if it cannot hold them."""
    if naming is Naming.TABLE:
        return dotted(*names)
    text = ".".join(name for name in names if name)
    if naming in (Naming.DIRECTORY, Naming.FILE):
        check_file_name(text)
    return text


def check_file_name(name: str) -> None:
    """Raise ValueError if a name cannot be one part of a file path."""
    if name in ("", ".", "..", STAGING_DIRECTORY) or "/" in name or "\\" in name or _CONTROL.search(name):
        raise ValueError(f"{name!r} cannot be a directory's or a file's name: it would lead to another place")


@dataclass(frozen=True, slots=True)
class NameRules:
    """How a target stores and compares names. ``length_max`` is in ``unit`` (``bytes`` or ``characters``; 0: no
    limit). ``ignored_at_end``: trailing characters that do not distinguish names. ``default`` replaces a missing part,
    such as the connection's current schema."""

    folds_case: bool = False
    ascii_only: bool = False
    normalises: bool = False
    ignored_at_end: str = ""
    length_max: int = 0
    unit: str = "bytes"
    default: str = ""

    def key(self, name: str) -> str:
        """Return a key that is equal for names that the target takes for the same."""
        name = name or self.default
        if self.ignored_at_end:
            name = name.rstrip(self.ignored_at_end)
        if self.normalises:
            name = unicodedata.normalize("NFC", name)
        if self.folds_case:
            name = _ascii_folded(name) if self.ascii_only else name.casefold()
        return name

    def problem(self, name: str) -> str:
        """Return why the target does not allow the name; empty if it does."""
        if "\0" in name:
            return f"the name {name!r} holds a NUL character"
        if self.ignored_at_end and name != name.rstrip(self.ignored_at_end):
            return f"the name {name!r} ends with a character that the target does not keep there"
        size = len(name.encode()) if self.unit == "bytes" else len(name)
        if self.length_max and size > self.length_max:
            return f"the name {name!r} has {size} {self.unit}, and the target takes {self.length_max}"
        return ""

    def collisions(self, names: tuple[str, ...]) -> list[tuple[str, str]]:
        """Return pairs of names that the target takes for the same."""
        first: dict[str, str] = {}
        return [(other, name) for name in names if (other := first.setdefault(self.key(name), name)) is not name]


def _ascii_folded(name: str) -> str:
    return "".join(one.lower() if one.isascii() else one for one in name)


EXACT = NameRules()
ALIKE = NameRules(folds_case=True, normalises=True, ignored_at_end=" .")
"""The loosest rules: names that differ under them differ in every target."""


@dataclass(frozen=True, slots=True)
class TargetPlace:
    """The target of a sink, as data. ``system`` is the server or file system; ``names`` is the path from there to the
    table, directory or topic, outermost first, with possibly empty parts. ``exclusive``: a second writer would replace
    the rows of the first, so two sinks cannot share it."""

    system: tuple[Hashable, ...]
    names: tuple[str, ...]
    exclusive: bool = False


PORTS = {"postgres": 5432, "mysql": 3306}


@dataclass(frozen=True, slots=True, order=True)
class Dataset:
    """Data outside of the job, after the naming rules of OpenLineage. ``namespace``: the server or the store, such as
    ``postgres://host:5432``; ``name``: the table, topic or path there. Namespace and name hold no user, password or
    query."""

    namespace: str
    name: str

    @classmethod
    def of_server(cls, scheme: str, host: str, port: int, *names: str) -> Dataset:
        """A table, or another named thing, of a server. A port of 0 is the usual one of the scheme."""
        port = port or PORTS.get(scheme, 0)
        authority = f"[{host}]" if ":" in host else host.lower()
        return cls(f"{scheme}://{authority}{f':{port}' if port else ''}", ".".join(filter(None, names)))
