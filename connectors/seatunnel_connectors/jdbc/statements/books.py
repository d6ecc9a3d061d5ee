"""The target's own record of what arrived, in portable SQL: see the PostgreSQL ledger for what it is for."""

from __future__ import annotations

import json
from dataclasses import dataclass

from seatunnel_connectors.jdbc.recorded import Recorded, fenced_off
from seatunnel_connectors.jdbc.statements.flavor import Flavor, Session
from seatunnel_py.api import CommitContext, WriteContext

LEDGER = "seatunnel_ledger"
PIECES = "seatunnel_piece"


@dataclass(frozen=True, slots=True)
class Books:
    """The two tables of one database, about one sink and upstream table. Every method belongs into the caller's
    transaction."""

    flavor: Flavor
    database: str
    token: str
    table: str

    @property
    def ledger(self) -> str:
        return self.flavor.quote(*filter(None, (self.database, LEDGER)))

    @property
    def pieces(self) -> str:
        return self.flavor.quote(*filter(None, (self.database, PIECES)))

    def create(self) -> list[str]:
        text = self.flavor.text_type
        return [
            f"CREATE TABLE IF NOT EXISTS {self.ledger} (lineage {text(64)} NOT NULL, step {text(190)} NOT NULL, "
            f"table_name {text(400)} NOT NULL, job_id {text(190)} NOT NULL, token {text(16)} NOT NULL, "
            "last_checkpoint BIGINT, incarnation INTEGER NOT NULL, epoch INTEGER NOT NULL, finished INTEGER NOT NULL, "
            "PRIMARY KEY (lineage, step, table_name))",
            f"CREATE TABLE IF NOT EXISTS {self.pieces} (token {text(16)} NOT NULL, data_id {text(700)} NOT NULL, "
            "attempt INTEGER NOT NULL, row_count BIGINT NOT NULL, byte_count BIGINT NOT NULL, "
            f"merged BIGINT NOT NULL, source_position {text(4000)}, checkpoint_id BIGINT, "
            "PRIMARY KEY (token, data_id))",
        ]

    def find(self, session: Session, data_id: str) -> Recorded | None:
        rows = session.ask(
            self._sql(
                "SELECT row_count, byte_count, merged, source_position FROM {pieces} WHERE token = ? AND data_id = ?"
            ),
            (self.token, data_id),
        )
        if not rows:
            return None
        count, size, merged, end = rows[0]
        return Recorded(count, size, merged, json.loads(end) if end else None)

    def check_fence(self, session: Session, context: WriteContext, shown: str) -> None:
        """FatalError where a newer incarnation or epoch has made itself known, or the run is finished."""
        rows = session.ask(
            self._sql("SELECT incarnation, epoch, finished, token FROM {ledger} WHERE {row}"),
            (context.lineage, context.step, self.table),
        )
        for incarnation, epoch, finished, token in rows:
            if (incarnation, epoch) > (context.incarnation, context.epoch) or (finished and token == self.token):
                raise fenced_off(shown)

    def insert_piece(self, session: Session, context: WriteContext, recorded: Recorded) -> None:
        end = None if recorded.end is None else json.dumps(recorded.end)
        session.run(
            self._sql(
                "INSERT INTO {pieces} (token, data_id, attempt, row_count, byte_count, merged, source_position) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)"
            ),
            (self.token, context.data_id, context.attempt, recorded.rows, recorded.bytes, recorded.merged, end),
        )

    def forget_piece(self, session: Session, data_id: str, before: Recorded) -> None:
        """Make room for a fuller record; none where another attempt has replaced it since."""
        session.run(
            self._sql("DELETE FROM {pieces} WHERE token = ? AND data_id = ? AND row_count = ?"),
            (self.token, data_id, before.rows),
        )

    def raise_fence(self, session: Session, job_id: str, lineage: str, step: str, incarnation: int, epoch: int) -> None:
        key = (lineage, step, self.table)
        rows = session.ask(self._sql("SELECT incarnation, epoch FROM {ledger} WHERE {row}"), key)
        if not rows:
            session.run(
                self._sql("INSERT INTO {ledger} ({names}) VALUES (?, ?, ?, ?, ?, NULL, ?, ?, 0)"),
                (*key, job_id, self.token, incarnation, epoch),
            )
        elif tuple(rows[0]) < (incarnation, epoch):
            session.run(
                self._sql("UPDATE {ledger} SET incarnation = ?, epoch = ? WHERE {row}"), (incarnation, epoch, *key)
            )

    def last_checkpoint(self, session: Session, lineage: str, step: str) -> int | None:
        rows = session.ask(
            self._sql("SELECT last_checkpoint FROM {ledger} WHERE {row} AND token = ?"),
            (lineage, step, self.table, self.token),
        )
        return rows[0][0] if rows else None

    def missing(self, session: Session, data_ids: list[str]) -> list[str]:
        """Names of units that the target does not hold."""
        held = {row[0] for row in session.ask(self._sql("SELECT data_id FROM {pieces} WHERE token = ?"), (self.token,))}
        return [name for name in data_ids if name not in held]

    def record(self, session: Session, context: CommitContext) -> None:
        """Write the checkpoint; the pieces of a finished run have served."""
        key = (context.lineage, context.step, self.table)
        self.raise_fence(session, context.job_id, context.lineage, context.step, context.incarnation, 0)
        session.run(
            self._sql("UPDATE {ledger} SET last_checkpoint = ?, finished = ?, token = ? WHERE {row}"),
            (context.checkpoint, int(context.final), self.token, *key),
        )
        if context.final:
            self.forget_all(session)

    def forget_all(self, session: Session) -> None:
        session.run(self._sql("DELETE FROM {pieces} WHERE token = ?"), (self.token,))

    def _sql(self, text: str) -> str:
        names = "lineage, step, table_name, job_id, token, last_checkpoint, incarnation, epoch, finished"
        row = "lineage = ? AND step = ? AND table_name = ?"
        done = text.format(ledger=self.ledger, pieces=self.pieces, names=names, row=row)
        return done.replace("?", self.flavor.marker)
