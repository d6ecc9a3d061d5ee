"""Defines a stage: the part of a chain before, between or after queries, and the directory shared by the stages of a
task."""

from __future__ import annotations

import json
import os
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path

from seatunnel_py.errors import FatalError
from seatunnel_py.work.chain import Chain, ChainSql
from seatunnel_py.work.unit import Unit, UnitResult, result_from_plain

ROW_BITS = 32  # the hidden column: number of the batch, then number of the row in it
ROW_MASK = (1 << ROW_BITS) - 1


class StageCancelledError(FatalError):
    """A stage ends because another one has failed; that one reports why."""


@dataclass(frozen=True, slots=True)
class QueryStage:
    """The part of a chain before, between or after queries. ``before`` and ``behind`` are the adjacent queries.
    ``fed``: its rows come from Spark, always after a query, else if the source is a DataFrame."""

    number: int
    unit: Unit
    chain: Chain
    before: ChainSql | None = None
    behind: ChainSql | None = None
    fed: bool = False

    @property
    def place(self) -> Path:
        """The task's own directory; both processes of the task compute the same one."""
        scratch = os.environ.get("SPARK_LOCAL_DIRS", tempfile.gettempdir()).partition(",")[0]
        return Path(scratch) / f"query-{self.chain.lineage[:8]}-{self.chain.incarnation}" / _file(str(self.unit.id))

    @property
    def stopped(self) -> bool:
        """Whether the last stage has failed, so that the rows of the others are not needed any more."""
        return (self.place / "stop").exists()

    def stop(self) -> None:
        (self.place / "stop").touch()

    def end(self, result: UnitResult) -> None:
        """Write the stage's result, whole or not at all."""
        written = self.place / f"{self.number}.end.part"
        written.write_text(json.dumps(result.to_plain()))
        written.rename(self.place / f"{self.number}.end")

    def results_before(self) -> list[UnitResult]:
        """The known results of the stages before this one."""
        return [
            result_from_plain(json.loads(path.read_text()))
            for number in range(self.number)
            if (path := self.place / f"{number}.end").exists()
        ]


def _file(name: str) -> str:
    """Unit ids contain table names, whose characters a directory may not allow."""
    plain = "".join(letter if letter.isalnum() or letter in "._-" else "_" for letter in name)
    return f"{plain[:80]}-{zlib.crc32(name.encode()):08x}"
