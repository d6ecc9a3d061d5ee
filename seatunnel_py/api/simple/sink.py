"""A sink in one class."""

from __future__ import annotations

import tempfile
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from seatunnel_py.api.batch import Batch, RowKind
from seatunnel_py.api.capabilities import Guarantee, SinkCapabilities
from seatunnel_py.api.factory import SinkFactory, StepContext
from seatunnel_py.api.options import SinkOptions
from seatunnel_py.api.schema import TableSchema
from seatunnel_py.api.simple.declaring import bound, declare_options
from seatunnel_py.api.sink import Effect, Piece, Setup, Sink, Visible, WriteContext, Writer
from seatunnel_py.errors import FatalError

MEMORY_BYTES_MAX = 32 * 2**20
"""Of a unit's batches that wait for ``write``; the rest waits in a temporary file."""

AGAIN = "a unit that is repeated writes its rows again"


class SimpleSink(SinkFactory[Any]):
    """A sink in one class, which is its own factory::

        class Lines(SimpleSink):
            name = "Lines"
            path: str = option(doc="the file that lines are appended to")

            def write(self, batches, context):
                with open(self.path, "a") as file:
                    file.writelines(f"{row}\\n" for batch in batches for row in batch.data.to_pylist())

    Annotated attributes are options, and have their values in all methods; ``options`` may name a model instead.
    ``self.table`` is the upstream table. Keep nothing in ``self``: each method runs on a copy, in another process.

    Rows are visible once they are written, and a unit that failed is written again: the sink is at-least-once. If a
    second ``write`` of the same rows changes nothing (they have a key; they go to a place that is named after
    ``context.data_id``), declare ``guarantee = Guarantee.IDEMPOTENT`` and ``why``. A sink with two-phase commit is a
    ``Sink``. ``takes_changes``: ``write`` looks at ``batch.kinds``; otherwise rows that are no inserts are refused."""

    guarantee: ClassVar[Guarantee] = Guarantee.AT_LEAST_ONCE
    why: ClassVar[str] = AGAIN
    takes_changes: ClassVar[bool] = False
    table: TableSchema

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        declare_options(cls, SimpleSink, SinkOptions)
        if cls.guarantee is Guarantee.TWO_PHASE_COMMIT:
            raise TypeError(f"{cls.__name__}: a SimpleSink has no committer; subclass Sink for two-phase commit")
        if cls.guarantee is not Guarantee.AT_LEAST_ONCE and cls.why is AGAIN:
            raise TypeError(f"{cls.__name__}: say in `why` for what reason a second write of a unit changes nothing")

    @property
    def target(self) -> str:
        """The place that rows go to, for people."""
        return self.name

    def prepare(self) -> None:
        """Make the target ready, once, on the driver, before anything is written. Must be safe to call again."""
        return

    def check(self, batch: Batch) -> None:
        """Raise BadRowsError for rows that the target will not take. Called for each batch before anything of its unit
        is written; where the job allows bad rows, the engine finds them by it and sets them aside."""
        return

    @abstractmethod
    def write(self, batches: Iterator[Batch], context: WriteContext) -> int | None:
        """Write the batches of one unit, in a worker, and make them durable. Return how many rows the target has
        confirmed; None: all of them, for a write that failed raises."""

    def capabilities(self, options: Any, table: TableSchema, context: StepContext) -> SinkCapabilities:
        return SinkCapabilities(self.guarantee, self.why)

    def create(self, options: Any, table: TableSchema, context: StepContext) -> Sink:
        return _Sink(bound(self, options, table=table))


@dataclass(frozen=True, slots=True)
class _Sink(Sink):
    plugin: SimpleSink

    @property
    def target(self) -> str:
        return self.plugin.target

    def plan_setup(self) -> Setup:
        prepares = type(self.plugin).prepare is not SimpleSink.prepare
        effects = (Effect("prepare", self.plugin.target),) if prepares else ()
        return Setup(effects, visible=Visible.STAGED)

    def setup(self, setup: Setup) -> None:
        self.plugin.prepare()

    def open(self, context: WriteContext) -> Writer:
        return _SimpleWriter(self.plugin, context)


class _SimpleWriter(Writer):
    """Keeps the batches of a unit until all of them have come, and lets the plugin write them."""

    def __init__(self, plugin: SimpleSink, context: WriteContext) -> None:
        self._plugin, self._context = plugin, context
        self._rows = 0
        self._spool = tempfile.SpooledTemporaryFile(max_size=MEMORY_BYTES_MAX)  # noqa: SIM115 - closed by stage or abort

    def write(self, batch: Batch) -> None:
        self._refuse_changes(batch)
        self._plugin.check(batch)
        self._rows += batch.rows
        if not self._context.trial:
            import pickle  # in a worker, and not at the start of every command

            pickle.dump(batch, self._spool, protocol=5)

    def stage(self) -> Piece:
        with self._spool:
            written = self._plugin.write(self._batches(), self._context) if self._rows else 0
        return Piece(self._rows if written is None else written)

    def abort(self) -> None:
        self._spool.close()

    def _batches(self) -> Iterator[Batch]:
        import pickle

        end = self._spool.tell()
        self._spool.seek(0)
        while self._spool.tell() < end:
            yield pickle.load(self._spool)

    def _refuse_changes(self, batch: Batch) -> None:
        if self._plugin.takes_changes or (batch.kinds is None and batch.absent is None):
            return
        import pyarrow.compute as pc

        if batch.kinds is not None and pc.any(pc.not_equal(batch.kinds, int(RowKind.INSERT))).as_py():
            raise FatalError(
                f"table {batch.table}: {self._plugin.name} takes inserts only, and a row is an update or a delete",
                "leave such rows out with the transform FilterRowKind",
            )
        if batch.absent is not None and any(pc.any(column).as_py() for column in batch.absent.columns):
            raise FatalError(
                f"table {batch.table}: {self._plugin.name} writes whole rows, and cells of a row were not sent",
                "let the source send whole rows",
            )
