"""Runs a small driver: it writes, stages and commits the units of a test, and resumes from its journal after a kill.

Rules. (1) Like the real driver, it journals start effects before and after, and a checkpoint's pieces before its
commit. (2) The next incarnation repeats everything that is not journaled. (3) To be killed, it runs in its own process.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seatunnel_py.api.batch import Batch, Position
from seatunnel_py.api.process.failpoints import DIRECTORY_VARIABLE, VARIABLE, failpoint
from seatunnel_py.api.schema import Column, PrimaryKey, TablePath, TableSchema
from seatunnel_py.api.sink import CommitContext, Committer, Piece, Sink, WriteContext, Writer
from seatunnel_py.api.types import parse_type
from seatunnel_py.errors import worded
from seatunnel_py.testing.findings import BrokenPropertyError

if TYPE_CHECKING:
    import pyarrow as pa

LINEAGE = "0123456789abcdef0123456789abcdef"
UNIT_ROWS = 6
CHECKPOINTS = (("a@", "b@"), ("a@1",), ("b@1", "c@"))
"""Units by the checkpoint that commits them. Their names are those of the engine: split and start position."""

BETWEEN_WRITES = failpoint("kit.write.between", "A batch of a unit is written; the next one is not.")
STAGED = failpoint("kit.stage.after", "A unit is staged; no record names it.")
BEFORE_COMMIT = failpoint("kit.commit.before", "A record names the pieces; nothing is committed.")
COMMITTED = failpoint("kit.commit.after", "The commit has returned; the journal does not show it yet.")
"""Failpoints that every sink passes, besides its own."""

HOSTILE = ("plain", 'quo"te', "it's", "tab\tnew\nline", "back\\slash", "", "ünïcødé ☃", ", ; -- %s ${x} \\N", None)


def table_of(*, key: bool, names: Sequence[str] = ("id", "unit", "seq", "text")) -> TableSchema:
    """The table that tests write: a number, the unit, the row's index in it, and a text."""
    types = ("bigint", "string", "int", "string")
    columns = tuple(
        Column(name, parse_type(kind), nullable=at == 3)
        for at, (name, kind) in enumerate(zip(names, types, strict=True))
    )
    made = TableSchema(TablePath.parse("conformance"), columns)
    return replace(made, primary_key=PrimaryKey((names[0],))) if key else made


def rows_of(unit: str) -> list[tuple[int, str, int, str | None]]:
    """Rows of a unit; the texts contain characters that break careless quoting."""
    units = [one for units in CHECKPOINTS for one in units]
    first = units.index(unit) * UNIT_ROWS
    return [(first + seq, unit, seq, HOSTILE[(first + seq) % len(HOSTILE)]) for seq in range(UNIT_ROWS)]


def all_rows() -> list[tuple[Any, ...]]:
    return [row for units in CHECKPOINTS for unit in units for row in rows_of(unit)]


def batches(table: TableSchema, unit: str) -> Iterator[Batch]:
    """The unit in two batches."""
    import pyarrow as pa

    rows = rows_of(unit)
    for half in (rows[: UNIT_ROWS // 2], rows[UNIT_ROWS // 2 :]):
        columns = [
            pa.array(values, kind)
            for values, kind in zip(
                zip(*half, strict=True), (pa.int64(), pa.string(), pa.int32(), pa.string()), strict=True
            )
        ]
        data: pa.RecordBatch = pa.record_batch(columns, names=list(table.names))
        yield Batch(table.path, data, end=Position({"row": half[-1][0]}))


@dataclass(frozen=True, slots=True)
class KitJob:
    """A job of this kit: one sink, one table, a journal in ``folder``."""

    sink: Sink
    table: TableSchema
    folder: Path
    incarnation: int = 1

    @property
    def staging(self) -> str:
        return (self.folder / "staging").as_uri()

    def write(self, unit: str, setup: Mapping[str, Any], attempt: int = 0, epoch: int = 0) -> Piece:
        """Write and stage one unit."""
        writer = self.sink.open(
            WriteContext("conformance", LINEAGE, "sink", unit, 0, self.incarnation, epoch, attempt, setup, self.staging)
        )
        try:
            for number, batch in enumerate(batches(self.table, unit)):
                if number:
                    BETWEEN_WRITES.hit()
                writer.write(batch)
        except BaseException:
            self._abort(writer)
            raise
        piece = writer.stage()
        STAGED.hit()
        if not isinstance(piece, Piece):
            raise BrokenPropertyError(f"stage of {type(writer).__name__} returns {piece!r}, which is not a Piece")
        return piece

    def give_up(self, unit: str, setup: Mapping[str, Any]) -> None:
        """Write one unit and abort it, as after a later bad row."""
        writer = self.sink.open(
            WriteContext("conformance", LINEAGE, "sink", unit, 0, self.incarnation, 0, 0, setup, self.staging)
        )
        for batch in batches(self.table, unit):
            writer.write(batch)
        self._abort(writer)

    def _abort(self, writer: Writer) -> None:
        try:
            writer.abort()
        except Exception as error:
            raise BrokenPropertyError(f"abort of {type(writer).__name__} must not raise: {worded(error)}") from error

    def commit(
        self, pieces: Sequence[Piece], setup: Mapping[str, Any], checkpoint: int, *, final: bool = False
    ) -> None:
        committer = self.sink.committer()
        committer.commit(committer.combine(pieces), self.context(setup, checkpoint, final=final))

    def committer(self) -> Committer:
        return self.sink.committer()

    def context(self, setup: Mapping[str, Any], checkpoint: int, *, final: bool = False) -> CommitContext:
        who = ("conformance", LINEAGE, "sink")
        return CommitContext(*who, checkpoint, self.incarnation, final, setup, self.staging)

    # ------------------------------------------------------------ a whole run

    def run(self) -> None:
        """Run to the end, from the journal's last entry."""
        found = self._journal()
        if "planned" not in found:
            found |= self._log("planned", asdict(self.sink.plan_setup()))
        setup = found["planned"]["data"]
        if "set up" not in found:
            self.sink.setup(_setup_of(found["planned"]))
            self._log("set up", True)
        else:
            self.committer().recover(self.context(setup, 0))
        for checkpoint, units in enumerate(CHECKPOINTS, 1):
            if f"record {checkpoint}" not in found:
                staged = [asdict(self.write(unit, setup, epoch=self.incarnation)) for unit in units]
                found |= self._log(f"record {checkpoint}", staged)
            if f"committed {checkpoint}" not in found:
                pieces = [Piece(**piece) for piece in found[f"record {checkpoint}"]]
                BEFORE_COMMIT.hit()
                self.commit(pieces, setup, checkpoint, final=checkpoint == len(CHECKPOINTS))
                COMMITTED.hit()
                self._log(f"committed {checkpoint}", True)

    def _journal(self) -> dict[str, Any]:
        path = self.folder / "journal"
        lines = path.read_text().splitlines() if path.exists() else []
        return {key: value for line in lines for key, value in json.loads(line).items()}

    def _log(self, key: str, value: Any) -> dict[str, Any]:
        line = json.dumps({key: value})
        with (self.folder / "journal").open("a") as file:
            file.write(line + "\n")
        loaded: dict[str, Any] = json.loads(line)
        return loaded

    def killed_at(self, point: str) -> bool:
        """Run in its own process, which dies at this failpoint; True if it did."""
        hits = self.folder / point
        hits.mkdir()
        child = os.fork()
        if not child:
            os.environ |= {VARIABLE: f"{point}:kill", DIRECTORY_VARIABLE: str(hits)}
            with suppress(BaseException):
                self.run()
                os._exit(0)
            sys.excepthook(*sys.exc_info())
            os._exit(1)
        _, status = os.waitpid(child, 0)
        return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


def _setup_of(plain: Mapping[str, Any]) -> Any:
    from seatunnel_py.api.sink import Effect, Setup, Visible

    effects = tuple(Effect(**effect) for effect in plain["effects"])
    return Setup(effects, plain["data"], Visible(plain["visible"]))
