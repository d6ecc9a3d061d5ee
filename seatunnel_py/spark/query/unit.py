"""Runs a unit that needs Catalyst, from a driver's thread, as one Spark job of its own.

*Narrow* queries are part of a chain: read, query, write in one task, rows streaming through (``stages.py``). A
*wide* query is a vertex: its inputs are in segments, and its answer is written as segments (``wide_query.py``). Arrow
and sqlglot are imported on use: most jobs have no query.
"""

from __future__ import annotations

import json
import pickle
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from seatunnel_py.api.schema import TablePath
from seatunnel_py.errors import FatalError, SeaTunnelError
from seatunnel_py.spark.packs.pack_task import unpicklable
from seatunnel_py.spark.plugins.frames import PARTITION, PARTITIONS, FrameSource
from seatunnel_py.spark.query.session import drop_view, put_view, query_frame, query_session, wire_ddl
from seatunnel_py.spark.query.types import ROW_DDL
from seatunnel_py.work.chain import Chain, ChainQuery, ChainSource, ChainSql
from seatunnel_py.work.unit import (
    FailureKind,
    Slice,
    StepCount,
    Unit,
    UnitFailure,
    UnitResult,
    result_from_plain,
)

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import DataFrame, SparkSession


class QuerySessions:
    """Pools sessions for queries, one for each query that runs at the same time; views of one are unknown to others."""

    def __init__(self, context: SparkContext) -> None:
        self._context = context
        self._idle: list[SparkSession] = []
        self._lock = threading.Lock()
        self._base: SparkSession | None = None

    @contextmanager
    def borrowed(self) -> Iterator[SparkSession]:
        """A session for exclusive use inside the block."""
        with self._lock:
            session = self._idle.pop() if self._idle else query_session(self._first())
        yield session
        with self._lock:
            # A session that failed may hold views of the failed unit, so it is not used again.
            self._idle.append(session)

    def _first(self) -> SparkSession:
        from pyspark.sql import SparkSession

        self._base = self._base or SparkSession(self._context)
        return self._base


def needs_catalyst(chain: Chain) -> bool:
    """Whether units of this chain cannot run in a pack."""
    if isinstance(chain.head, ChainQuery) or _frame_of(chain) is not None:
        return True
    return any(isinstance(step, ChainSql) for step in chain.transforms)


def _frame_of(chain: Chain) -> FrameSource | None:
    """The source of a chain whose rows are a DataFrame."""
    source = chain.head.source if isinstance(chain.head, ChainSource) else None
    return source if isinstance(source, FrameSource) else None


def run_query_unit(sessions: QuerySessions, chain: Chain, unit: Unit, exchange: str) -> UnitResult:
    """Run a unit whose chain needs Catalyst. ``exchange`` is the place for a wide query's answer.

    An error of the query is a failed result. An exception means that the unit is lost: its workers died, or it was
    cancelled.
    """
    from seatunnel_py.spark.query.stages import stages_of

    began = time.perf_counter()
    stages: list[bytes] = []
    if not isinstance(chain.head, ChainQuery):
        try:
            stages = [pickle.dumps(stage, 5) for stage in stages_of(chain, unit)]
        except Exception as error:  # noqa: BLE001 - a plugin's own code runs here
            return unpicklable(unit.id, error)
    try:
        with sessions.borrowed() as session:
            if isinstance(chain.head, ChainQuery):
                result = _run_wide(session, chain, chain.head, unit, exchange)
            else:
                result = _run_narrow(session, chain, unit, stages)
    except Exception as error:
        failure = _failure(error, chain)
        if failure is None:
            raise
        return UnitResult(unit.id, done=False, seconds=time.perf_counter() - began, failure=failure)
    return replace(result, seconds=time.perf_counter() - began)


# ------------------------------------------------------------------ narrow


def _run_narrow(session: SparkSession, chain: Chain, unit: Unit, stages: list[bytes]) -> UnitResult:
    """Stage, query, stage, … in one task. Every query reads a view of the stage before it."""
    from seatunnel_py.spark.query.row_origin import with_row
    from seatunnel_py.spark.query.stages import RESULT, ending, sending

    queries = [step for step in chain.transforms if isinstance(step, ChainSql)]
    source = _frame_of(chain)
    frame: DataFrame = source.frame(session) if source else session.range(0, 1, 1, 1)
    for query, stage in zip(queries, stages[:-1], strict=True):
        frame = _mapped(frame, partial(sending, stage), wire_ddl(query.table, ROW_DDL))
        put_view(query.name, frame._jdf)
        frame = query_frame(session, with_row(query.query))
    done = _mapped(frame, partial(ending, stages[-1]), f"{RESULT} string")
    (row,) = done.collect() if source is None else _partition(done, unit)
    for query in queries:
        drop_view(session, query.name)
    return result_from_plain(json.loads(row[0]))


def _partition(frame: DataFrame, unit: Unit) -> list[Any]:
    """The rows of one partition of a source that is a DataFrame; the others are other units'."""
    assert unit.split is not None, f"unit {unit.id} of a source has no split"
    payload: Any = unit.split.payload
    number, count = payload[PARTITION], payload[PARTITIONS]
    found = frame._jdf.rdd().getNumPartitions()
    if found != count:
        raise FatalError(
            f"{unit.split.table} had {count} partitions when the job was planned, and has {found} now",
            "run the job again, while no other process writes to its sources",
        )
    return list(frame.sparkSession.sparkContext.runJob(frame.rdd, list, [number]))


def _mapped(frame: DataFrame, function: Callable[..., Any], ddl: str) -> DataFrame:
    """Apply ``mapInArrow`` with a function that also receives the names of the columns: pyspark would read a dot in one
    of them as a path, so they are numbered on the way."""
    names = list(frame._jdf.columns())
    numbered = frame.toDF(*(f"c{number}" for number in range(len(names))))
    return numbered.mapInArrow(partial(function, names), ddl)


# ------------------------------------------------------------------ wide


def _run_wide(session: SparkSession, chain: Chain, head: ChainQuery, unit: Unit, exchange: str) -> UnitResult:
    from seatunnel_py.spark.query.wide_query import SLICES, QueryInput, QueryOutput, deal, reading, writing

    assert chain.output is not None and not chain.transforms and not chain.sinks, "a wide query is a vertex of its own"
    counts = []
    for channel, name, table in head.inputs:
        slices = [item for item in unit.slices if item.channel == channel]
        parts = deal(slices, session.sparkContext.defaultParallelism)
        numbers = session.range(0, len(parts), 1, len(parts))
        task = pickle.dumps(QueryInput(head.step, table, parts), 5)
        put_view(name, numbers.mapInArrow(partial(reading, task), wire_ddl(table))._jdf)
        rows = sum(item.rows for item in slices)
        counts.append(StepCount(channel, table.path, rows, rows))
    output = chain.output
    target = QueryOutput(head.output, output.channel, output.location or exchange, f"{chain.incarnation}.{unit.id}")
    answer = _mapped(query_frame(session, head.query), partial(writing, pickle.dumps(target, 5)), f"{SLICES} string")
    written = [_slice(item) for row in answer.collect() for item in json.loads(row[0])]
    for _, name, _ in head.inputs:
        drop_view(session, name)
    read, given = sum(item.rows for item in unit.slices), sum(item.rows for item in written)
    counts += [
        StepCount(head.step, head.output.path, read, given),
        StepCount(output.channel, head.output.path, given, given),
    ]
    return UnitResult(
        unit.id,
        rows=read,
        bytes=sum(item.bytes for item in unit.slices),
        first_row_at=time.time() if written else 0.0,
        slices=tuple(replace(item, sequence=number) for number, item in enumerate(written)),
        counts=tuple(counts),
    )


def _slice(plain: dict[str, Any]) -> Slice:
    return Slice(**{**plain, "table": TablePath(**plain["table"])})


# ------------------------------------------------------------------ failures


def _failure(error: Exception, chain: Chain) -> UnitFailure | None:
    """The query's error; None if Spark lost the unit."""
    from seatunnel_py.spark.query.errors import condition, first_sentence

    text = str(error)
    if isinstance(error, SeaTunnelError):
        message, remedy = error.message, error.remedy
    elif told := _told(text):
        message, remedy = told
    elif condition(error):
        message, remedy = first_sentence(error), ""
    elif isinstance(error, ValueError):
        message, remedy = text, ""
    else:
        return None
    step = chain.head.step if isinstance(chain.head, ChainQuery) else _queries(chain)
    return UnitFailure(FailureKind.FATAL, message, remedy, step, type(error).__qualname__, text[-20_000:])


def _queries(chain: Chain) -> str:
    named = [step.step for step in chain.transforms if isinstance(step, ChainSql)]
    return ", ".join(named) or (chain.head.step if isinstance(chain.head, ChainSource) else chain.vertex)


def _told(trace: str) -> tuple[str, str] | None:
    """Message and remedy of our own error in the traceback of a worker."""
    for line in reversed(trace.splitlines()):
        mark, found, rest = line.partition("FatalError: ")
        if found and mark.startswith("seatunnel_py"):
            after = trace.partition(line)[2].lstrip("\n").splitlines()
            remedy = after[0].strip() if after and after[0].strip().startswith("remedy: ") else ""
            return rest, remedy.removeprefix("remedy: ")
    return None
