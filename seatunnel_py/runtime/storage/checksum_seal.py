"""Seals the files of a job: each contains its name, and a checksum over the name and every byte.

Rules. (1) A file that decides something is read only under its own name, and only completely: a damaged one is refused
by name, never skipped. (2) Stored bytes start with a line of format, version, name, lineage of the job, length and
SHA-256; version 1 has no lineage. (3) JSON for users and tools stays valid JSON: the seal is its last key, and covers
the text before it byte by byte. (4) The first releases wrote no seal. A file without one is read only if it can be that
old. A file of driver N must have an ``incarnations/N`` of the old form too; no lower incarnation than it may be sealed;
JSON must have just the keys of those releases. (5) The files of a driver have the lineage of its incarnation: a
file of another job, or of the same job before ``--fresh``, is refused.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from seatunnel_py.api.storage import Storage

_MAGIC, VERSION = b"seatunnel-stored", 1
_WITH_LINEAGE = 2
_KEY = ', "seal": '
_OLD_LINEAGE = re.compile(rb"[0-9a-f]{32}")


class DamagedFileError(ValueError):
    """A stored file differs from the content that was written under its name."""


class OtherJobFileError(DamagedFileError):
    """The file is complete, but of another lineage; either lineage may be the wrong one."""


def sealed(name: str, body: bytes, lineage: str = "") -> bytes:
    """Put a line with name, lineage and checksum before ``body``."""
    return b"%s %s\n%s" % (_MAGIC, _head(name.encode(), lineage.encode(), body), body)


def is_sealed(data: bytes) -> bool:
    """Return True if the data starts with a seal; a file of an old release does not."""
    return data.startswith(_MAGIC)


def unsealed(name: str, data: bytes, lineage: str = "") -> bytes:
    """Check the seal, and return the body. With ``lineage``, that must match too. Raises DamagedFileError."""
    head, newline, body = data.partition(b"\n")
    if not newline or not head.startswith(_MAGIC + b" "):
        raise DamagedFileError(f"it does not begin as what {name} holds" if data else "it is empty")
    words = head.split(b" ")
    known = {(b"%d" % VERSION, 5), (b"%d" % _WITH_LINEAGE, 6)}
    if (words[1], len(words)) not in known:
        shown = words[1].decode(errors="replace")
        unknown = words[1] not in {version for version, _ in known} and len(words) in (5, 6)
        raise DamagedFileError(
            f"its version {shown} is not known to this release" if unknown else "its first line is damaged"
        )
    of_job = words[3] if len(words) == 6 else b""
    if head == b"%s %s" % (_MAGIC, _head(name.encode(), of_job, body)):
        if lineage and of_job != lineage.encode():
            raise OtherJobFileError("it is of another job" if of_job else "it does not name its job")
        return body
    if words[2] != name.encode() and head == b"%s %s" % (_MAGIC, _head(words[2], of_job, body)):
        raise DamagedFileError(f"it has the content of {words[2].decode(errors='replace')}")
    if words[-2] != b"%d" % len(body):
        raise DamagedFileError(
            f"it has {len(body)} bytes, and its first line names {words[-2].decode(errors='replace')}"
        )
    raise DamagedFileError("its checksum is wrong")


@dataclass(frozen=True, slots=True)
class SealTerms:
    """Required seals of one driver's files. ``old``: its release wrote no seals; ``lineage``: empty if its
    release had none, or if its incarnation cannot be read, which is refused elsewhere."""

    old: bool = False
    lineage: str = ""


def bond_of(storage: Storage, incarnation: int) -> SealTerms:
    """Read the seal terms from the incarnation of this driver (rules 4 and 5)."""
    name = f"incarnations/{incarnation:08}"
    data = storage.get(name)
    if data is None:
        return SealTerms()
    if is_old_lineage(data):
        return SealTerms(old=True)
    try:
        lineage = unsealed(name, data).decode()
        unsealed(name, data, lineage)
    except ValueError:
        return SealTerms()
    return SealTerms(lineage=lineage)


def is_old_lineage(data: bytes) -> bool:
    """Return True if an old release wrote this incarnation."""
    return _OLD_LINEAGE.fullmatch(data) is not None


def _head(name: bytes, lineage: bytes, body: bytes) -> bytes:
    about = b"%d %s %d" % (VERSION, name, len(body))
    if lineage:
        about = b"%d %s %s %d" % (_WITH_LINEAGE, name, lineage, len(body))
    return b"%s %s" % (about, hashlib.sha256(about + b"\n" + body).hexdigest().encode())


# ---------------------------------------------------------------- JSON


def sealed_json(name: str, plain: Mapping[str, Any], lists: Mapping[str, Sequence[str]] = MappingProxyType({})) -> str:
    """A JSON object in one line (indented it takes ten times as long), with its seal as the last key. ``lists``:
    further keys of the object, whose items are JSON texts already."""
    text = json.dumps(plain, default=str)
    for key, items in lists.items():
        text = f"{text[:-1]}{', ' if len(text) > 2 else ''}{json.dumps(key)}: [{', '.join(items)}]}}"
    return text[:-1] + _tail(name, text)


def is_sealed_json(name: str, text: str) -> bool:
    """Return True if the text is complete and sealed under this name."""
    start, found, _ = text.rpartition(_KEY)
    return bool(found) and text[len(start) :] == _tail(name, start + "}")


def unsealed_json(name: str, text: str, old_keys: Collection[str]) -> dict[str, Any]:
    """Return the object sealed under this name, or one of an old release with these keys. Raises DamagedFileError."""
    if is_sealed_json(name, text):
        return _object(text.rpartition(_KEY)[0] + "}")
    if _KEY in text:
        raise DamagedFileError("its checksum is wrong, or it is the content of another file")
    plain = _object(text)
    if strange := sorted(plain.keys() - set(old_keys)):
        raise DamagedFileError(f"it has no checksum, and the key {strange[0]!r}")
    return plain


def _tail(name: str, text: str) -> str:
    seal = {"version": VERSION, "name": name, "sha256": hashlib.sha256(f"{name}\n{text}".encode()).hexdigest()}
    return f"{_KEY}{json.dumps(seal)}}}"


def _object(text: str) -> dict[str, Any]:
    try:
        plain = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DamagedFileError(f"it is not JSON: {error}" if text.strip() else "it is empty") from None
    if not isinstance(plain, dict):
        raise DamagedFileError("it is not a JSON object")
    return plain
