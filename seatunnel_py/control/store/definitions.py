"""Definitions: stored job files. Each change is a revision of its own, and a run names the one that it started with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, desc, insert, select, update
from sqlalchemy.sql.functions import count

from seatunnel_py.control.definition_text import DefinitionText, is_definition_id
from seatunnel_py.control.store import intents
from seatunnel_py.control.store.tables import DEFINITION, REVISION
from seatunnel_py.errors import SeaTunnelError


class UnknownDefinitionError(SeaTunnelError):
    """There is no such definition, or no such revision."""


class DefinitionExistsError(SeaTunnelError):
    """The id of the definition is taken."""


class StaleRevisionError(SeaTunnelError):
    """The definition was changed since the caller has read it."""


class DefinitionInUseError(SeaTunnelError):
    """Runs of the definition wait or are alive."""


@dataclass(frozen=True, slots=True)
class Revision:
    """One text of a definition. ``digest``: SHA-256 of the text; numbers count from 1."""

    definition: str
    number: int
    text: str
    digest: str
    author: str
    comment: str
    at: float


@dataclass(frozen=True, slots=True)
class Definition:
    """A stored job file. ``newest``: its last revision; ``directory``: the working directory of its runs, empty: that
    of its files in SEATUNNEL_HOME."""

    id: str
    newest: Revision
    directory: str
    created_at: float
    created_by: str


def create(
    connection: Connection, id: str, text: DefinitionText, author: str, comment: str, at: float, *, directory: str = ""
) -> Revision:
    """Save a new definition. Raises DefinitionExistsError, and SeaTunnelError for an invalid id. The id of a deleted
    one is free; its revisions are kept, and the numbers go on."""
    if not is_definition_id(id):
        raise SeaTunnelError(f"{id!r} cannot name a definition", "use up to 63 letters, digits, '-', '_' and '.'")
    before = connection.execute(select(DEFINITION).where(DEFINITION.c.id == id)).mappings().first()
    if before is not None and before["deleted_at"] is None:
        raise DefinitionExistsError(f"a definition {id!r} exists", "change it, or choose another id")
    number = 1 if before is None else before["revision"] + 1
    values = {"revision": number, "directory": directory, "created_at": at, "created_by": author, "deleted_at": None}
    if before is None:
        connection.execute(insert(DEFINITION).values(id=id, **values))
    else:
        connection.execute(update(DEFINITION).where(DEFINITION.c.id == id).values(**values))
    return _added(connection, id, number, text, author, comment, at)


def change(
    connection: Connection,
    id: str,
    text: DefinitionText,
    author: str,
    comment: str,
    at: float,
    *,
    expected: int | None = None,
) -> Revision:
    """Save a new revision. Raises UnknownDefinitionError, and StaleRevisionError if the newest revision is not the
    ``expected`` one. The same text again makes no new revision."""
    newest = found(connection, id).newest
    if expected is not None and newest.number != expected:
        raise StaleRevisionError(
            f"{id!r} is at revision {newest.number} by {newest.author}, and the change was made to {expected}",
            "read it again, and repeat the change",
        )
    if newest.digest == text.digest:
        return newest
    connection.execute(update(DEFINITION).where(DEFINITION.c.id == id).values(revision=newest.number + 1))
    return _added(connection, id, newest.number + 1, text, author, comment, at)


def delete(connection: Connection, id: str, at: float) -> Definition:
    """Delete a definition; its revisions stay, for runs name them. Raises UnknownDefinitionError, and
    DefinitionInUseError while runs of it wait or are alive."""
    before = found(connection, id)
    if runs := intents.open_runs(connection, id):
        shown = ", ".join(runs[:3])
        raise DefinitionInUseError(f"{id!r} is in use by {shown}", "stop them, or drop them from the queue")
    connection.execute(update(DEFINITION).where(DEFINITION.c.id == id).values(deleted_at=at))
    return before


def found(connection: Connection, id: str) -> Definition:
    """The definition of this id. Raises UnknownDefinitionError."""
    row = connection.execute(_definitions().where(DEFINITION.c.id == id)).mappings().first()
    if row is None:
        raise UnknownDefinitionError(f"there is no definition {id!r}", "the list of definitions names them")
    return _definition(row)


def directory(connection: Connection, id: str) -> str:
    """The working directory of a definition, also of a deleted one; empty: that of its files."""
    return str(connection.execute(select(DEFINITION.c.directory).where(DEFINITION.c.id == id)).scalar() or "")


def revision(connection: Connection, id: str, number: int) -> Revision:
    """One revision, also of a deleted definition. Raises UnknownDefinitionError."""
    chosen = (REVISION.c.definition == id) & (REVISION.c.number == number)
    row = connection.execute(select(REVISION).where(chosen)).mappings().first()
    if row is None:
        raise UnknownDefinitionError(f"there is no revision {number} of {id!r}", "the list of revisions names them")
    return Revision(**row)


def revisions(connection: Connection, id: str, *, before: int | None = None, limit: int = 200) -> Sequence[Revision]:
    """Revisions, newest first; ``before``: the number where the last page ended."""
    query = select(REVISION).where(REVISION.c.definition == id).order_by(desc(REVISION.c.number)).limit(limit)
    if before is not None:
        query = query.where(REVISION.c.number < before)
    return [Revision(**row) for row in connection.execute(query).mappings()]


def listing(connection: Connection, *, after: str = "", text: str = "", limit: int = 200) -> Sequence[Definition]:
    """Definitions in the order of their ids; ``after``: the id where the last page ended; ``text``: a part of the
    id."""
    query = _definitions().where(DEFINITION.c.id > after).order_by(DEFINITION.c.id).limit(limit)
    if text:
        query = query.where(DEFINITION.c.id.icontains(text, autoescape=True))
    return [_definition(row) for row in connection.execute(query).mappings()]


def number(connection: Connection) -> int:
    """How many definitions there are."""
    return int(
        connection.execute(select(count()).select_from(DEFINITION).where(DEFINITION.c.deleted_at.is_(None))).scalar()
        or 0
    )


def _definitions() -> Select[Any]:
    newest = (REVISION.c.definition == DEFINITION.c.id) & (REVISION.c.number == DEFINITION.c.revision)
    columns = (DEFINITION.c.directory, DEFINITION.c.created_at, DEFINITION.c.created_by)
    return select(REVISION, *columns).join(DEFINITION, newest).where(DEFINITION.c.deleted_at.is_(None))


def _definition(row: Mapping[Any, Any]) -> Definition:
    newest = Revision(**{name: row[name] for name in Revision.__slots__})
    return Definition(newest.definition, newest, row["directory"], row["created_at"], row["created_by"])


def _added(
    connection: Connection, id: str, number: int, text: DefinitionText, author: str, comment: str, at: float
) -> Revision:
    made = Revision(id, number, text.text, text.digest, author, comment, at)
    connection.execute(insert(REVISION).values(**{name: getattr(made, name) for name in Revision.__slots__}))
    return made
