"""Names: how they are written in dotted paths, what may be part of a file's path, and how a target compares them.

A name of a source table is ONE name wherever it goes: quotes keep a dot in it from dividing it, and a part of a file's
path never leads elsewhere. Two names that a target cannot tell apart have one key (:class:`NameRules`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from enum import StrEnum

_PART = re.compile(r'(?:[^."`]+|"(?:[^"]|"")*"|`(?:[^`]|``)*`)+')
_QUOTED = re.compile(r'"((?:[^"]|"")*)"|`((?:[^`]|``)*)`')
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
STAGING_DIRECTORY = ".seatunnel"


def written(name: str) -> str:
    """A name as a part of a dotted path: in double quotes where it would be taken for something else."""
    if name.isidentifier():
        return name
    bare = name and not set(name) & {".", '"', "`"} and name == name.strip()
    return name if bare else '"' + name.replace('"', '""') + '"'


def dotted(*names: str) -> str:
    """A path of the names that are not empty."""
    return ".".join(written(name) for name in names if name)


def divided(text: str) -> list[str]:
    """The names of a dotted path; double quotes or backticks keep one together. ValueError where a quote stays open."""
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
                f'{text!r} has a quote that nothing closes: a name that holds one is written in quotes, as "we""ird"'
            )
        at = end + 1


def globbed(names: Iterable[str], *, whole: bool = False) -> str:
    """A pattern of the dotted names that one of these means, with ``*`` for anything. Unless they are ``whole``, a
    schema or database in front may be left out of them."""
    plain = (".".join(divided(name)) for name in names)
    patterns = "|".join(".*".join(map(as_pattern, name.split("*"))) for name in plain)
    return patterns if whole else f"(?:.*[.])?({patterns})"


def as_pattern(text: str) -> str:
    """A text as people write it in a job file's patterns: ``[.]`` for a dot."""
    return "[.]".join(map(re.escape, text.split(".")))


def _unquoted(match: re.Match[str]) -> str:
    return match[1].replace('""', '"') if match[1] is not None else match[2].replace("``", "`")


class Naming(StrEnum):
    """What an option names with its text, so that placeholders in it are filled with whole names: a table (a dotted
    path), a directory (a path with slashes), something with one plain name (a topic, a prefix), or files below a
    directory, which say nothing about where that is."""

    TABLE = "table"
    DIRECTORY = "directory"
    PLAIN = "plain"
    FILE = "file"


def filled(naming: Naming | None, *names: str) -> str:
    """What stands for names in an option of that kind. ValueError where they cannot stand there."""
    if naming is Naming.TABLE:
        return dotted(*names)
    text = ".".join(name for name in names if name)
    if naming in (Naming.DIRECTORY, Naming.FILE):
        check_file_name(text)
    return text


def check_file_name(name: str) -> None:
    """ValueError where a name cannot be one part of a file's path."""
    if name in ("", ".", "..", STAGING_DIRECTORY) or "/" in name or "\\" in name or _CONTROL.search(name):
        raise ValueError(f"{name!r} cannot be a directory's or a file's name: it would lead to another place")


@dataclass(frozen=True, slots=True)
class NameRules:
    """How a target stores and compares names. ``length_max`` counts ``unit`` (``bytes`` or ``characters``; 0: no
    limit). ``ignored_at_end`` are characters that do not count there. ``default`` is what a part that is not given
    stands for, such as the schema that a connection is in."""

    folds_case: bool = False
    ascii_only: bool = False
    normalises: bool = False
    ignored_at_end: str = ""
    length_max: int = 0
    unit: str = "bytes"
    default: str = ""

    def key(self, name: str) -> str:
        """Equal for two names that the target takes for one."""
        name = name or self.default
        if self.ignored_at_end:
            name = name.rstrip(self.ignored_at_end)
        if self.normalises:
            name = unicodedata.normalize("NFC", name)
        if self.folds_case:
            name = _ascii_folded(name) if self.ascii_only else name.casefold()
        return name

    def problem(self, name: str) -> str:
        """Why the target cannot have that name, or an empty text."""
        if "\0" in name:
            return f"the name {name!r} holds a NUL character"
        if self.ignored_at_end and name != name.rstrip(self.ignored_at_end):
            return f"the name {name!r} ends with a character that the target does not keep there"
        size = len(name.encode()) if self.unit == "bytes" else len(name)
        if self.length_max and size > self.length_max:
            return f"the name {name!r} has {size} {self.unit}, and the target takes {self.length_max}"
        return ""

    def collisions(self, names: tuple[str, ...]) -> list[tuple[str, str]]:
        """Pairs of names that the target takes for one."""
        first: dict[str, str] = {}
        return [(other, name) for name in names if (other := first.setdefault(self.key(name), name)) is not name]


def _ascii_folded(name: str) -> str:
    return "".join(one.lower() if one.isascii() else one for one in name)


EXACT = NameRules()
ALIKE = NameRules(folds_case=True, normalises=True, ignored_at_end=" .")
"""What any target might take for one name: two names that differ under these rules differ everywhere."""


@dataclass(frozen=True, slots=True)
class TargetPlace:
    """Where the rows of a sink go, as data. ``system`` is the server, the file system, ...; ``names`` lead from there
    to the table, directory or topic, the outer ones first and possibly empty. ``exclusive``: a second writer would
    replace what the first one wrote, so that nobody can share it on purpose."""

    system: tuple[Hashable, ...]
    names: tuple[str, ...]
    exclusive: bool = False
