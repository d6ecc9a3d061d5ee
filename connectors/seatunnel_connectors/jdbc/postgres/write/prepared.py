"""Writes units as prepared transactions: their rows are in the target, and a checkpoint's commit is COMMIT PREPARED.

No row is written twice. Until the commit, the server's rules apply to the rows: at most ``max_prepared_transactions``
transactions, which hold back VACUUM and lock the rows that they wrote. So prepared transactions are used only if
requested.

Rules. (1) A transaction's name identifies its owner and attempt. (2) A unit's own row is part of its transaction: if
neither row nor transaction exists, that is a loss, never a commit (I31). (3) A new attempt rolls back the older one,
which is in no checkpoint.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b

import psycopg

from seatunnel_connectors.jdbc.postgres.connection.session import Statements, literal
from seatunnel_connectors.jdbc.postgres.ledger.ledger_tables import PostgresLedger
from seatunnel_connectors.jdbc.postgres.write.load_plan import Load
from seatunnel_connectors.jdbc.target.unit_record import lives
from seatunnel_py.api import CannotResumeError, CommitLostError, Piece, WriteContext

SHOWN_MAX = 5


def gid(load: Load, context: WriteContext) -> str:
    """The name of an attempt's transaction."""
    who = f"{context.incarnation}.{context.epoch}.{context.attempt}"
    return f"{_of_unit(load, context.vertex, context.data_id)}:{who}"


def older(load: Load, context: WriteContext) -> str:
    """A query for transactions of other attempts at the same rows."""
    return _named(_of_unit(load, context.vertex, context.data_id) + ":")


def commit_all(db: Statements, load: Load, books: PostgresLedger, pieces: Sequence[Piece]) -> None:
    """Commit every transaction that is not committed yet, and roll back leftovers of older executions."""
    for piece in pieces:
        name, data_id = str(piece.data["staged"]), str(piece.data["data_id"])
        try:
            if not _is_committed(db, books, data_id):
                db.execute(f"COMMIT PREPARED {literal(name)}".encode())
        except psycopg.errors.UndefinedObject:
            if not _is_committed(db, books, data_id):
                raise _lost(db, load, name) from None
    for vertex, life in lives(pieces).items():
        found = _found(db, _named(_of_vertex(load, vertex) + ":"))
        roll_back(db, (name for name in found if _life_of(name) < life))


def _lost(db: Statements, load: Load, name: str) -> CannotResumeError:
    """Error for a lost transaction. The run's other transactions still exist, and hold locks and the horizon of VACUUM
    until they end."""
    others = _found(db, _named(_of_run(load) + ":"))
    shown = ", ".join(literal(one) for one in others[:SHOWN_MAX]) + (", ..." if len(others) > SHOWN_MAX else "")
    left = (
        f"{len(others)} prepared transactions of it still exist ({shown}): --fresh rolls them back; " if others else ""
    )
    return CommitLostError(
        f"LOST: table {load.shown}: the prepared transaction {name} is gone, and its rows are not in the target: they "
        "are lost",
        left + load.restart_remedy,
    )


def roll_back_all(db: Statements, load: Load) -> None:
    """Roll back every transaction of this run."""
    roll_back(db, _found(db, _named(_of_run(load) + ":")))


def roll_back_runs(db: Statements, tokens: Iterable[str]) -> int:
    """Roll back every transaction of these runs; return their number."""
    names = [name for token in tokens for name in _found(db, _named(f"{_of_token(token)}:"))]
    roll_back(db, names)
    return len(names)


def roll_back(db: Statements, names: Iterable[str]) -> None:
    for name in names:
        try:
            db.execute(f"ROLLBACK PREPARED {literal(name)}".encode())
        except psycopg.errors.UndefinedObject:
            continue  # another session was faster


def _is_committed(db: Statements, books: PostgresLedger, data_id: str) -> bool:
    return db.execute(books.select_piece(data_id).encode()).fetchone() is not None


def _found(db: Statements, query: str) -> list[str]:
    return [row[0] for row in db.execute(query.encode())]


def _named(prefix: str) -> str:
    return (
        f"SELECT gid FROM pg_prepared_xacts WHERE database = current_database() AND starts_with(gid, {literal(prefix)})"
    )


def _life_of(name: str) -> tuple[int, int]:
    incarnation, epoch, _ = name.rpartition(":")[2].split(".")
    return int(incarnation), int(epoch)


def _of_run(load: Load) -> str:
    return _of_token(load.token)


def _of_token(token: str) -> str:
    return f"seatunnel:{token}"


def _of_vertex(load: Load, vertex: str) -> str:
    return f"{_of_run(load)}:{_digest(vertex)}"


def _of_unit(load: Load, vertex: str, data_id: str) -> str:
    return f"{_of_vertex(load, vertex)}:{_digest(data_id)}"


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=10).hexdigest()
