"""Source or target of ``seatunnel copy`` as typed; a factory's ``from_shorthand`` converts it to options."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class Shorthand:
    """Source or target of a copy. ``address`` excludes ``user`` and ``password``; ``password`` refers to a secret.

    ``tables``: names to read, with ``*`` for anything (empty: all), without those of ``exclude``, and only of ``kinds``
    (empty: the source's default). ``into``: name of the target table, with placeholders. ``replace`` deletes existing
    rows; ``append`` keeps them, and rows may double. ``format``: file format. ``schemas``: the tables may be of several
    schemas, which a target with schemas keeps.
    """

    address: str
    user: str = ""
    password: str = ""
    tables: tuple[str, ...] = ()
    into: str = ""
    replace: bool = False
    append: bool = False
    schemas: bool = False
    exclude: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    format: str = ""

    @property
    def scheme(self) -> str:
        """``postgresql`` of ``postgresql://db/shop`` or ``jdbc:postgresql://...``; empty for a path."""
        scheme = urlsplit(self.address.removeprefix("jdbc:")).scheme
        return scheme if len(scheme) > 1 else ""  # one letter is a drive
