"""One end of ``seatunnel copy`` as a person types it; a factory's ``from_shorthand`` makes options of it."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class Shorthand:
    """``address`` is without ``user`` and ``password``, which is a reference to a secret.

    ``tables``: what to read, with ``*`` for anything, none for all, but for those that ``exclude`` names, and of these
    ``kinds`` (empty: the source's own default); ``into``: the name of a table in the target, where
    placeholders are filled in; ``replace``: rows that are there already go; ``append``: they stay, and may double;
    ``format``: that of files. ``schemas``: the source may have tables of several schemas, which a target with schemas
    of its own keeps.
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
        """``postgresql`` of ``postgresql://db/shop``, also behind ``jdbc:``; a path has none."""
        scheme = urlsplit(self.address.removeprefix("jdbc:")).scheme
        return scheme if len(scheme) > 1 else ""  # one letter is a drive
