"""Implements the ``Spark`` sink: rows wait in segments, and the commit writes them all as one DataFrame."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
from pyarrow import fs

from seatunnel_py.api import (
    Batch,
    CommitContext,
    Committer,
    Effect,
    FatalError,
    Piece,
    Present,
    RowKind,
    Setup,
    Sink,
    TablePath,
    TableSchema,
    TargetPlace,
    Treatment,
    WriteContext,
    Writer,
    private_directory,
    private_output,
)
from seatunnel_py.plan.sql.query_types import query_conversions
from seatunnel_py.work.segment_files import filesystem
from seatunnel_py.work.segments import SegmentWriter
from seatunnel_py.work.unit import Slice

FILES_MAX = 10_000
PARTS_MAX = 8
"""Tasks that write at the same time; each makes its own file if the format has files."""


@dataclass(frozen=True)
class SparkSink(Sink):
    """``given`` may hold a password, so it is not shown. ``chosen``: the job file sets the save mode."""

    format: str
    given: tuple[tuple[str, str], ...] = field(repr=False)
    save_mode: str
    tmp_path: str
    table: TableSchema
    chosen: bool = True

    @property
    def _named(self) -> str:
        named = dict(self.given)
        return named.get("path") or named.get("dbtable") or named.get("table") or ""

    @property
    def target(self) -> str:
        return f"{self.format} {self._named or self.table.path}"

    @property
    def target_place(self) -> TargetPlace | None:
        """Formats name their places in different ways: equal names count as one place."""
        named = self._named
        return TargetPlace((self.format, dict(self.given).get("url")), (named,)) if named else None

    def plan_setup(self) -> Setup:
        overwrites = self.save_mode == "overwrite"
        effects = (Effect(self.save_mode, self.target, destructive=overwrites),)
        try:
            return Setup(effects, conversions=query_conversions(self.table), present=self._present())
        except ValueError as error:
            raise FatalError(f"Spark cannot hold table {self.table.path}: {error}") from None

    def _present(self) -> Present | None:
        """Content of a local path; only Spark can read other places."""
        path = dict(self.given).get("path", "").removeprefix("file://").removeprefix("file:")
        if not path or "://" in path or self.save_mode not in ("append", "overwrite"):
            return None
        files = (one for one in Path(path).rglob("*") if one.is_file() and not one.name.startswith(("_", ".")))
        count = sum(1 for _ in islice(files, FILES_MAX + 1))
        bound, count = ("more than", FILES_MAX) if count > FILES_MAX else ("", count)
        if not count:
            return Present(Treatment.NEW, what="files")
        if self.save_mode == "overwrite":
            return Present(Treatment.REPLACED, count, bound, "files")
        ways = "save_mode = append adds to them, overwrite replaces them, or name another path"
        why = "files of one run never replace those of another"
        return Present(
            Treatment.APPENDED, count, bound, "files",
            doubles="" if self.chosen else why, ways="" if self.chosen else ways,
        )  # fmt: skip

    def open(self, context: WriteContext) -> Writer:
        return _StagingWriter(self, context)

    def committer(self) -> Committer:
        return _SparkCommitter(self)


class _StagingWriter(Writer):
    """Stores the rows of one unit as a segment."""

    def __init__(self, sink: SparkSink, context: WriteContext) -> None:
        self._target = sink.target
        name = f"{context.data_id}.{context.incarnation}.e{context.epoch}.a{context.attempt}"
        self._segment = SegmentWriter(_staging(sink, context.lineage, context.step), name)
        self._rows = 0

    def write(self, batch: Batch) -> None:
        if batch.kinds is not None:
            changes = pc.filter(batch.kinds, pc.not_equal(batch.kinds, int(RowKind.INSERT)))
            if len(changes):
                kind = RowKind(changes[0].as_py())
                raise FatalError(
                    f"{self._target} takes inserts only, and got a row of kind {kind.name} of {batch.table}",
                    "take changes out with FilterRowKind, or make them inserts with RowKindExtractor",
                )
        self._segment.add(Batch(batch.table, batch.data))
        self._rows += batch.rows

    def stage(self) -> Piece:
        slices = self._segment.finish("staged")
        plain: list[Any] = [asdict(item) for item in slices]
        return Piece(self._rows, sum(item.bytes for item in slices), data={"slices": plain})

    def abort(self) -> None:
        self._segment.abort()


class _SparkCommitter(Committer):
    def __init__(self, sink: SparkSink) -> None:
        self._sink = sink

    def commit(self, pieces: Sequence[Piece], context: CommitContext) -> None:
        files, directory = filesystem(_staging(self._sink, context.lineage, context.step))
        private_directory(files, directory)
        marker = f"{directory}/{context.checkpoint}.committed"
        if files.get_file_info(marker).type is not fs.FileType.NotFound:
            return
        first = not any(
            info.base_name.endswith(".committed") for info in files.get_file_info(fs.FileSelector(directory))
        )
        slices = [item for piece in pieces for item in _slices(piece)]
        if slices or first:
            # A commit must neither drop nor refuse the rows of an earlier commit of the same run.
            self._write(slices, self._sink.save_mode if first else "append")
        with private_output(files, marker):
            pass
        self._drop(slices)

    def abort(self, pieces: Sequence[Piece], context: CommitContext) -> None:
        self._drop([item for piece in pieces for item in _slices(piece)])

    def _write(self, slices: list[Slice], mode: str) -> None:
        from py4j.protocol import Py4JJavaError
        from pyspark.errors import PySparkException

        from seatunnel_py.spark.plugins.frames import active_session
        from seatunnel_py.spark.query.errors import first_sentence
        from seatunnel_py.spark.query.session import wire_ddl
        from seatunnel_py.spark.query.wide_query import QueryInput, deal, reading

        session = active_session()
        parts = deal(slices, min(PARTS_MAX, session.sparkContext.defaultParallelism))
        task = pickle.dumps(QueryInput(self._sink.target, self._sink.table, parts), 5)
        numbers = session.range(0, len(parts), 1, len(parts))
        rows = numbers.mapInArrow(partial(reading, task), wire_ddl(self._sink.table))
        try:
            rows.write.format(self._sink.format).options(**dict(self._sink.given)).mode(mode).save()
        except (PySparkException, Py4JJavaError) as error:
            raise FatalError(f"Spark cannot write {self._sink.target}: {first_sentence(error)}") from None

    def _drop(self, slices: Iterable[Slice]) -> None:
        for segment in sorted({item.segment for item in slices}):
            files, path = filesystem(segment)
            if files.get_file_info(path).type is not fs.FileType.NotFound:
                files.delete_file(path)


def _staging(sink: SparkSink, lineage: str, step: str) -> str:
    """A place of this run and this table: commits of two tables must not mistake one another for their own."""
    table = "".join(letter if letter.isalnum() or letter in "._-" else "_" for letter in f"{step}.{sink.table.path}")
    return f"{sink.tmp_path.rstrip('/')}/spark-{lineage}/{table}"


def _slices(piece: Piece) -> Iterable[Slice]:
    found: Any = piece.data["slices"]
    for plain in found:
        yield Slice(**{**plain, "table": TablePath(**plain["table"])})
