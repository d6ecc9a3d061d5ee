"""Run a Jdbc source into a Jdbc sink in this process, unit by unit, through the function that workers run."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from seatunnel_connectors.jdbc.factory import JdbcSinkFactory, JdbcSourceFactory
from seatunnel_py.api import (
    CommitContext,
    FatalError,
    JobMode,
    JobRegistry,
    Piece,
    Setup,
    Sink,
    SinkCapabilities,
    Source,
    SourceTable,
    Split,
    StepContext,
    TableSchema,
)
from seatunnel_py.work.chain import Chain, ChainSink, ChainSource
from seatunnel_py.work.run import run_unit
from seatunnel_py.work.unit import Budget, Unit, UnitId, UnitResult

_runs = itertools.count(1)
_registries: dict[str, JobRegistry] = {}


@dataclass
class Copied:
    """What a copy of one table did."""

    table: SourceTable
    setup: Setup
    splits: list[Split]
    results: list[UnitResult] = field(default_factory=list)

    @property
    def rows(self) -> int:
        return sum(result.rows for result in self.results)

    @property
    def merged(self) -> int:
        return sum(piece.piece.merged for result in self.results for piece in result.pieces)

    @property
    def how(self) -> object:
        return self.setup.data.get("how")


def make_source(options: Mapping[str, Any], parallelism: int = 2) -> Source:
    factory = JdbcSourceFactory()
    parsed = factory.options.model_validate(options, context={"job_file": True})
    source = factory.create(parsed, StepContext("source", parallelism=parallelism))  # type: ignore[arg-type]
    return pickle.loads(pickle.dumps(source))  # type: ignore[no-any-return]


def make_sink(
    options: Mapping[str, Any], table: TableSchema, *, job: str = "", mode: JobMode = JobMode.BATCH
) -> tuple[Sink, SinkCapabilities]:
    factory = JdbcSinkFactory()
    parsed = factory.options.model_validate(options, context={"job_file": True})
    job = job or f"job{next(_runs)}"
    registry = _registries.setdefault(job, JobRegistry())
    context = StepContext("sink", job_id=job, mode=mode, parallelism=2, registry=registry)
    sink = factory.create(parsed, table, context)  # type: ignore[arg-type]
    return sink, factory.capabilities(parsed, table, context)  # type: ignore[arg-type]


def copy_table(
    source: Source, table: SourceTable, sink: Sink, *, budget: Budget | None = None, final: bool = True
) -> Copied:
    """Set the sink up, run every unit of the table to its end, commit. Raises the first failure of a unit."""
    setup = sink.plan_setup()
    sink.setup(setup)
    lineage = f"lineage{next(_runs)}"
    enumerator = source.enumerator([table], None)
    try:
        splits = list(enumerator.discover())
        copied = Copied(table, setup, splits)
        chain = Chain(
            vertex="v", job_id="job", lineage=lineage, incarnation=1,
            head=ChainSource("source", source, table),
            sinks=(ChainSink("sink", table.schema.path, sink, setup.data),),
        )  # fmt: skip
        chain = pickle.loads(pickle.dumps(chain))
        numbers = itertools.count()
        for split in splits:
            _run_split(copied, chain, split, budget or Budget(), numbers)
    finally:
        enumerator.close()
    pieces: list[Piece] = [piece.piece for result in copied.results for piece in result.pieces]
    context = CommitContext("job", lineage, "sink", 1, final=final, setup=setup.data)
    committer = sink.committer()
    committer.commit(committer.combine(pieces), context)
    committer.commit(pieces, context)  # again, as after a crash: the effect is that of once
    return copied


def _run_split(copied: Copied, chain: Chain, split: Split, budget: Budget, numbers: Any) -> None:
    start = None
    while True:
        result = run_unit(Unit(UnitId("v", next(numbers)), split, start, budget=budget), chain)
        if result.failure:
            raise FatalError(result.failure.message, result.failure.remedy)
        copied.results.append(result)
        if result.done:
            return
        start = result.next


def copy_tables(
    source_options: Mapping[str, Any], sink_options: Mapping[str, Any], *, budget: Budget | None = None,
    parallelism: int = 2,
) -> list[Copied]:  # fmt: skip
    """Every table of the source into the sink; ``{table}`` in the sink's table is the upstream table's name."""
    source = make_source(source_options, parallelism)
    copied = []
    job = f"job{next(_runs)}"
    for table in source.tables():
        text = str(sink_options.get("table", "{table}")).replace("{table}", table.schema.path.table)
        options = {key: value for key, value in sink_options.items() if key != "table"}
        if "query" not in options:
            options["table"] = text
        sink, _ = make_sink(options, table.schema, job=job)
        copied.append(copy_table(source, table, sink, budget=budget))
    return copied


def same_rows(first: Sequence[Any], second: Sequence[Any]) -> None:
    """Equal as multisets; the message shows rows of the difference."""
    left, right = sorted(map(repr, first)), sorted(map(repr, second))
    assert left == right, (
        f"only first: {sorted(set(left) - set(right))[:5]}, only second: {sorted(set(right) - set(left))[:5]}"
    )
