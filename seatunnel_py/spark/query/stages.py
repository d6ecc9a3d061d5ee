"""Runs a chain with narrow queries on the workers: stages, and Spark's SQL between them.

One Spark job: the first stage reads and transforms, Spark computes, the last stage transforms and writes, in between
more of both. All stages run side by side in one task, so rows stream through and keep their order. Data that Spark
cannot carry (row kinds, metadata, positions of batches, rows of other tables) bypasses it through files of that task:

- ``STAGE.NUMBER.segment``: the batch of that number without its columns; a hidden column of each row names it;
- ``STAGE.end``: the result of the stage, written when it has ended; the next stage stages nothing before that;
- ``stop``: the last stage has failed, the others may stop.
"""

from __future__ import annotations

import json
import pickle
import shutil
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from seatunnel_py.api.process.private_files import make_private
from seatunnel_py.spark.plugins.frames import FrameSource
from seatunnel_py.spark.query.from_spark import SparkFeed
from seatunnel_py.spark.query.stage import QueryStage, StageCancelledError
from seatunnel_py.spark.query.to_spark import BYPASS, Bridge
from seatunnel_py.work.chain import Chain, ChainSource, ChainSql
from seatunnel_py.work.unit import StepCount, Unit, UnitResult

RESULT = "result"


def stages_of(chain: Chain, unit: Unit) -> list[QueryStage]:
    """Divide a chain with n queries into n + 1 stages."""
    frame = isinstance(chain.head, ChainSource) and isinstance(chain.head.source, FrameSource)
    queries = [step for step in chain.transforms if isinstance(step, ChainSql)]
    cuts = [at for at, step in enumerate(chain.transforms) if isinstance(step, ChainSql)]
    stages = []
    for number, (start, end) in enumerate(zip([-1, *cuts], [*cuts, len(chain.transforms)], strict=True)):
        before = queries[number - 1] if number else None
        behind = queries[number] if number < len(queries) else None
        part = replace(chain, transforms=chain.transforms[start + 1 : end], errors=None)
        if behind is not None:
            part = replace(part, sinks=(), output=None)
        stages.append(QueryStage(number, unit, part, before, behind, fed=frame or number > 0))
    return stages


def sending(payload: bytes, names: Sequence[str], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """For ``mapInArrow``: run a stage that is followed by a query; yield its rows for that query. ``names`` are those
    of the input columns."""
    stage = _begun(payload, batches)
    assert stage.behind is not None
    bridge = Bridge(stage)
    thread = threading.Thread(target=bridge.run, args=(_named(batches, names),), name="query-stage", daemon=True)
    thread.start()
    try:
        yield from bridge.rows()
    finally:
        bridge.abandoned.set()
        thread.join()


def ending(payload: bytes, names: Sequence[str], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """For ``mapInArrow``: run the last stage; yield one row, the result of the whole unit as JSON."""
    stage = _begun(payload, batches)
    feed = SparkFeed(stage, _named(batches, names))
    result = feed.run(sinks=stage.chain.sinks, output=stage.chain.output)
    if result.failure is not None:
        stage.stop()
        for _ in batches:
            pass  # Spark discards a worker that still has rows to send
    whole = _joined(stage, result)
    shutil.rmtree(stage.place, ignore_errors=True)
    yield pa.RecordBatch.from_pydict({RESULT: [json.dumps(whole.to_plain())]})


def _begun(payload: bytes, batches: Iterator[pa.RecordBatch]) -> QueryStage:
    """The stage; the first one makes the task's directory, and reads the row that only made Spark call it."""
    stage: QueryStage = pickle.loads(payload)
    if stage.number == 0:
        shutil.rmtree(stage.place, ignore_errors=True)
        make_private(stage.place)
    if not stage.fed:
        for _ in batches:
            pass
    return stage


def _named(batches: Iterator[pa.RecordBatch], names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    return (batch.rename_columns(list(names)) for batch in batches)


def _joined(stage: QueryStage, last: UnitResult) -> UnitResult:
    """Merge the stages' results: the first one's reads, the last one's writes, the earliest failure."""
    results = [*stage.results_before(), last]
    first = results[0]
    failures = [result.failure for result in results if result.failure is not None]
    failures.sort(key=lambda failure: failure.error_type.endswith(StageCancelledError.__qualname__))
    failure = failures[0] if failures else None
    counts: dict[tuple[str, Any], StepCount] = {}
    for result in results:
        for count in result.counts:
            key = (count.step, count.table)
            known = counts.get(key)
            # A query received its rows from one stage and passed them to the next.
            counts[key] = replace(known, rows_out=count.rows_out) if known else count
    # Rows that bypassed a query are counted where they went in and where they came out.
    shown = tuple(count for count in counts.values() if not count.step.startswith(f"{BYPASS}."))
    return replace(
        last,
        id=stage.unit.id,
        done=first.done and failure is None,
        next=first.next if failure is None else None,
        rows=first.rows,
        bytes=first.bytes,
        seconds=max(result.seconds for result in results),
        counts=() if failure else shown,
        failure=failure,
    )
