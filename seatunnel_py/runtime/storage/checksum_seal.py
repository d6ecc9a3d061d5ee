"""The seal of what a job stores: each file names itself and carries a checksum over its name and every byte.

Rules. (1) A file that decides something is read only under the name that it was written for, and only whole: a damaged
one is refused with its name, never skipped. (2) Stored bytes begin with a line of format, version, name, lineage of the
job, length and SHA-256; version 1 names no lineage. (3) JSON that people and tools read as well stays JSON: the seal is
its last key, and covers the text before it byte by byte. (4) The first releases wrote no seal. Such a file is read only
where nothing says that it is younger: a file of driver N only where ``incarnations/N`` is of the old form too, an
incarnation only where no lower one is sealed, JSON only where it has no key that those releases did not write. (5) What
a driver writes bears the lineage that its incarnation bears: the file of another job, or of the same job before
``--fresh``, is refused.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from seatunnel_py.api.storage import Storage

_MAGIC, VERSION = b"seatunnel-stored", 1
_WITH_LINEAGE = 2
_KEY = ', "seal": '
_OLD_LINEAGE = re.compile(rb"[0-9a-f]{32}")


class DamagedFileError(ValueError):
    """What is stored is not what was written under its name."""


class OtherJobFileError(DamagedFileError):
    """It is whole, and not of the lineage that is wanted: either may be the one that is wrong."""


def sealed(name: str, body: bytes, lineage: str = "") -> bytes:
    """``body`` under its name, with its checksum in front; of this lineage, where it is one driver's."""
    return b"%s %s\n%s" % (_MAGIC, _head(name.encode(), lineage.encode(), body), body)


def is_sealed(data: bytes) -> bool:
    """Whether this is meant to be sealed; a file of an old release begins otherwise."""
    return data.startswith(_MAGIC)


def unsealed(name: str, data: bytes, lineage: str = "") -> bytes:
    """What was sealed under this name; of this lineage only, where one is given. Raises Damaged."""
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
            raise OtherJobFileError("it is of another job" if of_job else "it does not say of which job it is")
        return body
    if words[2] != name.encode() and head == b"%s %s" % (_MAGIC, _head(words[2], of_job, body)):
        raise DamagedFileError(f"it holds what belongs under {words[2].decode(errors='replace')}")
    if words[-2] != b"%d" % len(body):
        raise DamagedFileError(
            f"it has {len(body)} bytes, and its first line says {words[-2].decode(errors='replace')}"
        )
    raise DamagedFileError("its checksum is wrong")


@dataclass(frozen=True, slots=True)
class SealTerms:
    """What the files of one driver have to bear. ``old``: its release wrote no seals; ``lineage``: empty where its
    release did not name one, and where its incarnation cannot be read, which is refused wherever drivers are read."""

    old: bool = False
    lineage: str = ""


def bond_of(storage: Storage, incarnation: int) -> SealTerms:
    """What the incarnation of this driver says (rules 4 and 5)."""
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
    """Whether this is what an old release wrote into an incarnation."""
    return _OLD_LINEAGE.fullmatch(data) is not None


def _head(name: bytes, lineage: bytes, body: bytes) -> bytes:
    about = b"%d %s %d" % (VERSION, name, len(body))
    if lineage:
        about = b"%d %s %s %d" % (_WITH_LINEAGE, name, lineage, len(body))
    return b"%s %s" % (about, hashlib.sha256(about + b"\n" + body).hexdigest().encode())


# ---------------------------------------------------------------- JSON


def sealed_json(name: str, plain: Mapping[str, Any]) -> str:
    """A JSON object in one line (indented it takes ten times as long), with its seal as the last key."""
    text = json.dumps(plain, default=str)
    return text[:-1] + _tail(name, text)


def is_sealed_json(name: str, text: str) -> bool:
    """Whether this is, whole, what was sealed under this name."""
    start, found, _ = text.rpartition(_KEY)
    return bool(found) and text[len(start) :] == _tail(name, start + "}")


def unsealed_json(name: str, text: str, old_keys: Collection[str]) -> dict[str, Any]:
    """The object that was sealed under this name, or that an old release wrote with these keys. Raises Damaged."""
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
        raise DamagedFileError(f"it is no JSON: {error}" if text.strip() else "it is empty") from None
    if not isinstance(plain, dict):
        raise DamagedFileError("it is no JSON object")
    return plain
