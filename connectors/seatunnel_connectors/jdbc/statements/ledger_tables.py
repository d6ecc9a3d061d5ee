"""Keeps the target's own record of arrived rows, in portable SQL: see the PostgreSQL ledger for its purpose."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from seatunnel_connectors.jdbc.statements.target_dialect import StatementSession, TargetDialect
from seatunnel_connectors.jdbc.target.unit_record import RecordedUnit, fenced_off
from seatunnel_py.api import CommitContext, WriteContext

_OTHERS = "job_id = ? AND step = ? AND table_name = ? AND lineage <> ?"
_OLDER = "(incarnation < ? OR incarnation = ? AND epoch < ?)"

LEDGER = "seatunnel_ledger"
PIECES = "seatunnel_piece"


@dataclass(frozen=True, slots=True)
class UnitRow:
    """A unit's record: its number of rows, and the table with them (or the name that they are staged under)."""

    rows: int
    place: str


@dataclass(frozen=True, slots=True)
class StatementLedger:
    """The two tables of one database, for one sink and upstream table. Call every method inside a transaction."""

    dialect: TargetDialect
    database: str
    token: str
    table: str

    @property
    def ledger(self) -> str:
        return self.dialect.quote(*filter(None, (self.database, LEDGER)))

    @property
    def pieces(self) -> str:
        return self.dialect.quote(*filter(None, (self.database, PIECES)))

    def create(self) -> list[str]:
        text = self.dialect.text_type
        return [
            f"CREATE TABLE IF NOT EXISTS {self.ledger} (lineage {text(64)} NOT NULL, step {text(190)} NOT NULL, "
            f"table_name {text(400)} NOT NULL, job_id {text(190)} NOT NULL, token {text(16)} NOT NULL, "
            "last_checkpoint BIGINT, incarnation INTEGER NOT NULL, epoch INTEGER NOT NULL, finished INTEGER NOT NULL, "
            "ended_at BIGINT, PRIMARY KEY (lineage, step, table_name))",
            f"CREATE TABLE IF NOT EXISTS {self.pieces} (token {text(16)} NOT NULL, data_id {text(700)} NOT NULL, "
            "attempt INTEGER NOT NULL, row_count BIGINT NOT NULL, byte_count BIGINT NOT NULL, "
            f"merged BIGINT NOT NULL, source_position {text(4000)}, source_rows BIGINT NOT NULL, checkpoint_id BIGINT, "
            f"incarnation INTEGER NOT NULL, epoch INTEGER NOT NULL, vertex {text(400)}, staged {text(40)}, "
            "PRIMARY KEY (token, data_id))",
        ]

    def claim_table(self, session: StatementSession, job: str = "") -> None:
        """Insert a record without rows: this run of a job (``unit_record.of_job``) has set up its target."""
        session.run(
            self._sql(
                "INSERT INTO {pieces} (token, data_id, attempt, row_count, byte_count, merged, source_rows, "
                "incarnation, epoch, checkpoint_id, staged, vertex) VALUES (?, '', 0, 0, 0, 0, 0, 0, 0, 0, '', ?)"
            ),
            (self.token, job),
        )

    def is_claimed(self, session: StatementSession) -> bool:
        return self._piece(session, "", "token") is not None

    def find(self, session: StatementSession, data_id: str) -> RecordedUnit | None:
        found = self._piece(session, data_id, "row_count, byte_count, merged, source_position, source_rows")
        if found is None:
            return None
        count, size, merged, end, read = found
        return RecordedUnit(count, size, merged, json.loads(end) if end else None, read)

    def find_staged(self, session: StatementSession, data_id: str) -> str | None:
        """Name under which an earlier attempt has staged these rows."""
        found = self._piece(session, data_id, "staged")
        return None if found is None else found[0]

    def _piece(self, session: StatementSession, data_id: str, columns: str) -> tuple[Any, ...] | None:
        rows = session.ask(
            self._sql(f"SELECT {columns} FROM {{pieces}} WHERE token = ? AND data_id = ?"), (self.token, data_id)
        )
        return rows[0] if rows else None

    def check_fence(self, session: StatementSession, context: WriteContext, shown: str) -> None:
        """Raise FatalError if a newer incarnation or epoch has announced itself, or the run is finished."""
        rows = session.ask(
            self._sql(
                "SELECT incarnation, epoch, finished, token FROM {ledger} WHERE {row}" + self.dialect.shared_lock
            ),
            (context.lineage, context.step, self.table),
        )
        for incarnation, epoch, finished, token in rows:
            if (incarnation, epoch) > (context.incarnation, context.epoch) or (finished and token == self.token):
                raise fenced_off(shown)

    def insert_piece(
        self, session: StatementSession, context: WriteContext, recorded: RecordedUnit, staged: str = ""
    ) -> None:
        end = None if recorded.end is None else json.dumps(recorded.end)
        session.run(
            self._sql(
                "INSERT INTO {pieces} (token, data_id, attempt, row_count, byte_count, merged, source_position, "
                "source_rows, incarnation, epoch, vertex, staged) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
            ),
            (
                self.token, context.data_id, context.attempt, recorded.rows, recorded.bytes, recorded.merged, end,
                recorded.read, context.incarnation, context.epoch, context.vertex, staged,
            ),
        )  # fmt: skip

    def forget_piece(self, session: StatementSession, data_id: str) -> None:
        """Delete the record for another attempt."""
        session.run(self._sql("DELETE FROM {pieces} WHERE token = ? AND data_id = ?"), (self.token, data_id))

    def raise_fence(
        self, session: StatementSession, job_id: str, lineage: str, step: str, incarnation: int, epoch: int
    ) -> None:
        """Announce this incarnation and epoch. Several units may do so at once: the second one finds the first one's
        values, and never lowers them."""
        key = (lineage, step, self.table)
        rows = session.ask(self._sql("SELECT incarnation, epoch FROM {ledger} WHERE {row}"), key)
        if not rows:
            new = "INSERT INTO {ledger} ({names}) VALUES (?, ?, ?, ?, ?, NULL, ?, ?, 0)" + self.dialect.unless_there
            session.run(self._sql(new), (*key, job_id, self.token, incarnation, epoch))
        if not rows or tuple(rows[0]) < (incarnation, epoch):
            raised = f"UPDATE {{ledger}} SET incarnation = ?, epoch = ?, ended_at = NULL WHERE {{row}} AND {_OLDER}"
            session.run(self._sql(raised), (incarnation, epoch, *key, incarnation, incarnation, epoch))

    def lock(self, session: StatementSession, lineage: str, step: str) -> tuple[int | None, int]:
        """Lock the ledger's row until the transaction ends. Returns last checkpoint of this set-up, and incarnation."""
        rows = session.ask(
            self._sql("SELECT last_checkpoint, incarnation, token FROM {ledger} WHERE {row}" + self.dialect.own_lock),
            (lineage, step, self.table),
        )
        for last, incarnation, token in rows:
            return (last if token == self.token else None), incarnation
        return None, 0

    def announce(self, session: StatementSession, context: CommitContext, shown: str) -> None:
        """Announce this driver, and lock the ledger's row. Raise FatalError if a newer one has announced itself."""
        self.raise_fence(session, context.job_id, context.lineage, context.step, context.incarnation, 0)
        if self.lock(session, context.lineage, context.step)[1] > context.incarnation:
            raise fenced_off(shown)

    def held(self, session: StatementSession) -> dict[str, UnitRow]:
        """The target's record of each unit; the one without a name is for units whose records are deleted."""
        rows = session.ask(self._sql("SELECT data_id, row_count, staged FROM {pieces} WHERE token = ?"), (self.token,))
        return {name: UnitRow(int(count), place or "") for name, count, place in rows}

    def remember(self, session: StatementSession, place: str, held: Mapping[str, UnitRow]) -> None:
        """Record the table with this run's rows for later commits, since the units' own records are deleted."""
        if "" not in held:
            self.claim_table(session)
        if "" not in held or not held[""].place:
            sql = self._sql("UPDATE {pieces} SET staged = ? WHERE token = ? AND data_id = ''")
            session.run(sql, (place, self.token))

    def move(self, session: StatementSession, place: str) -> None:
        """Replace the recorded id of the table: it has another one since it was altered."""
        session.run(self._sql("UPDATE {pieces} SET staged = ? WHERE token = ? AND data_id = ''"), (place, self.token))

    def last(self, session: StatementSession, lineage: str, step: str) -> int | None:
        """The last checkpoint of this lineage, in any set-up."""
        key = (lineage, step, self.table)
        rows = session.ask(self._sql("SELECT last_checkpoint FROM {ledger} WHERE {row}"), key)
        return None if not rows or rows[0][0] is None else int(rows[0][0])

    def others(self, session: StatementSession, context: CommitContext) -> list[str]:
        """The job's other lineages."""
        sql = f"SELECT lineage FROM {{ledger}} WHERE {_OTHERS}"
        return [row[0] for row in session.ask(self._sql(sql), self._others(context))]

    def end_others(self, session: StatementSession, context: CommitContext) -> dict[str, bool]:
        """Refuse their writers from now on; by token, whether each has committed anything."""
        known = session.ask(
            self._sql(f"SELECT token, last_checkpoint FROM {{ledger}} WHERE {_OTHERS}"), self._others(context)
        )
        session.run(self._sql(f"UPDATE {{ledger}} SET finished = 1 WHERE {_OTHERS}"), self._others(context))
        return {token: last is not None for token, last in known}

    def set_up_by(self, session: StatementSession, job: str) -> list[str]:
        """Tokens of this job's runs that may have had no commit yet."""
        sql = self._sql("SELECT token FROM {pieces} WHERE data_id = '' AND vertex = ? AND token <> ?")
        return [token for (token,) in session.ask(sql, (job, self.token))]

    def release_owner(self, session: StatementSession, context: CommitContext) -> None:
        """Mark the other lineages of this job as ended, and detach them from it."""
        ended = f", ended_at = coalesce(ended_at, {self.dialect.clock})" if self.dialect.clock else ""
        sql = f"UPDATE {{ledger}} SET finished = 1, job_id = ''{ended} WHERE {_OTHERS}"
        session.run(self._sql(sql), self._others(context))

    def _others(self, context: CommitContext) -> tuple[str, ...]:
        return (context.job_id, context.step, self.table, context.lineage)

    def end(self, session: StatementSession, context: CommitContext) -> None:
        """The whole lineage has ended, unless a later driver has gone on with it."""
        sql = f"UPDATE {{ledger}} SET ended_at = {self.dialect.clock} WHERE lineage = ? AND incarnation <= ?"
        session.run(self._sql(f"{sql} AND ended_at IS NULL"), (context.lineage, context.incarnation))

    def sweep(self, session: StatementSession, keep_days: int) -> None:
        """Delete lineages whose rows have all ended, after the retention time. The search for them takes no lock,
        because a DELETE by other columns than the key waits for every running commit."""
        old = f"< {self.dialect.clock} - {keep_days * 86_400}"
        ended = f"GROUP BY lineage HAVING count(*) = count(ended_at) AND max(ended_at) {old}"
        for (lineage,) in session.ask(self._sql(f"SELECT lineage FROM {{ledger}} {ended}")):
            session.run(self._sql(f"DELETE FROM {{ledger}} WHERE lineage = ? AND ended_at {old}"), (lineage,))

    def take_off(self, session: StatementSession, data_ids: list[str]) -> None:
        """Delete records of rows that are in the target and in a checkpoint."""
        for name in data_ids:
            self.forget_piece(session, name)

    def of(self, token: str) -> StatementLedger:
        """Return the ledger of another run, in the same tables."""
        return replace(self, token=token)

    def has_ended(self, session: StatementSession, token: str) -> bool | None:
        """True if the run of this token has finished, or was disowned; None: the ledger has no such run."""
        rows = session.ask(self._sql("SELECT min(finished) FROM {ledger} WHERE token = ?"), (token,))
        return None if rows[0][0] is None else bool(rows[0][0])

    def unnamed(self, session: StatementSession) -> list[str]:
        """Units in the target that are in no checkpoint."""
        sql = "SELECT data_id FROM {pieces} WHERE token = ? AND checkpoint_id IS NULL ORDER BY data_id LIMIT 5"
        return [row[0] for row in session.ask(self._sql(sql), (self.token,))]

    def accept(self, session: StatementSession, checkpoint: int, data_ids: list[str]) -> None:
        """Mark the pieces in this checkpoint."""
        for name in data_ids:
            session.run(
                self._sql("UPDATE {pieces} SET checkpoint_id = coalesce(checkpoint_id, ?) "
                          "WHERE token = ? AND data_id = ?"),
                (checkpoint, self.token, name),
            )  # fmt: skip

    def named(self, session: StatementSession) -> dict[str, int]:
        """Number of staged rows of each unit in checkpoints, by the units' names."""
        sql = "SELECT staged, row_count - merged FROM {pieces} WHERE token = ? AND checkpoint_id > 0"
        return {staged: int(rows) for staged, rows in session.ask(self._sql(sql), (self.token,))}

    def rows_beside(self, session: StatementSession) -> int:
        """Number of rows that units have written to staging tables."""
        sql = "SELECT coalesce(sum(row_count - merged), 0) FROM {pieces} WHERE token = ?"
        return int(session.ask(self._sql(sql), (self.token,))[0][0])

    def forget_named(self, session: StatementSession) -> None:
        session.run(self._sql("DELETE FROM {pieces} WHERE token = ? AND checkpoint_id > 0"), (self.token,))

    def forget_overtaken(self, session: StatementSession, vertex: str, life: tuple[int, int]) -> list[str]:
        """Delete staged rows of older executions of a vertex that are in no checkpoint; returns the names under which
        they are staged. A piece of a later execution is in a checkpoint, so all pieces in checkpoints of older ones are
        committed by now."""
        where = f"token = ? AND checkpoint_id IS NULL AND vertex = ? AND {_OLDER}"
        values = (self.token, vertex, life[0], *life)
        found = [row[0] for row in session.ask(self._sql(f"SELECT staged FROM {{pieces}} WHERE {where}"), values)]
        if found:
            session.run(self._sql(f"DELETE FROM {{pieces}} WHERE {where}"), values)
        return found

    def keep_late(self, session: StatementSession, checkpoint: int, data_ids: list[str], life: tuple[int, int]) -> None:
        """Mark records that other attempts must still find: from now on they belong to the execution whose checkpoint
        contains them."""
        kept = "checkpoint_id = coalesce(checkpoint_id, ?), incarnation = ?, epoch = ?"
        sql = self._sql(f"UPDATE {{pieces}} SET {kept} WHERE token = ? AND data_id = ?")
        for name in data_ids:
            session.run(sql, (checkpoint, *life, self.token, name))

    def forget_late(self, session: StatementSession, vertex: str, life: tuple[int, int]) -> None:
        """Delete records that only late attempts of older executions would need: their writers are refused."""
        where = f"token = ? AND checkpoint_id > 0 AND vertex = ? AND {_OLDER}"
        session.run(self._sql(f"DELETE FROM {{pieces}} WHERE {where}"), (self.token, vertex, life[0], *life))

    def record(self, session: StatementSession, context: CommitContext) -> None:
        """Write the checkpoint; the records of a finished run's pieces are no longer needed."""
        key = (context.lineage, context.step, self.table)
        self.raise_fence(session, context.job_id, context.lineage, context.step, context.incarnation, 0)
        session.run(
            self._sql("UPDATE {ledger} SET last_checkpoint = ?, finished = ?, token = ? WHERE {row}"),
            (context.checkpoint, int(context.final), self.token, *key),
        )
        if context.final:
            self.forget_all(session)

    def forget_all(self, session: StatementSession) -> None:
        session.run(self._sql("DELETE FROM {pieces} WHERE token = ?"), (self.token,))

    def _sql(self, text: str) -> str:
        names = "lineage, step, table_name, job_id, token, last_checkpoint, incarnation, epoch, finished"
        row = "lineage = ? AND step = ? AND table_name = ?"
        done = text.format(ledger=self.ledger, pieces=self.pieces, names=names, row=row)
        return done.replace("?", self.dialect.marker)
