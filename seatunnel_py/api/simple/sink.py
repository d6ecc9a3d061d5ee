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
"""Memory for a unit's batches before ``write``; further batches go to a temporary file."""

AGAIN = "a unit that is repeated writes its rows again"


class SimpleSink(SinkFactory[Any]):
    """A sink in one class, which is its own factory::

        class Lines(SimpleSink):
            name = "Lines"
            path: str = option(doc="the file that lines are appended to")

            def write(self, batches, context):
                with open(self.path, "a") as file:
                    file.writelines(f"{row}\\n" for batch in batches for row in batch.data.to_pylist())

    Annotated attributes are options; all methods see their values. Alternatively set ``options`` to a model.
    ``self.table`` is the upstream table. Store nothing in ``self``: each method runs on a copy, in another process.

    Rows are visible once they are written, and a failed unit is written again: the sink is at-least-once. If a
    second ``write`` of the same rows changes nothing (they have a key, or their file is named after
    ``context.data_id``), declare ``guarantee = Guarantee.IDEMPOTENT`` and ``why``. For two-phase commit subclass
    ``Sink``. ``takes_changes``: ``write`` handles ``batch.kinds``; otherwise rows other than inserts are refused."""

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
            raise TypeError(f"{cls.__name__}: explain in `why` why a second write of a unit changes nothing")

    @property
    def target(self) -> str:
        """Name the target, for messages."""
        return self.name

    def prepare(self) -> None:
        """Prepare the target, once, on the driver, before any write. Must be safe to call again."""
        return

    def check(self, batch: Batch) -> None:
        """Raise BadRowsError for rows that the target would refuse. Called for each batch before its unit is written;
        if the job allows bad rows, the engine uses it to find and quarantine them."""
        return

    @abstractmethod
    def write(self, batches: Iterator[Batch], context: WriteContext) -> int | None:
        """Write the batches of one unit, in a worker, and make them durable. Return the number of rows that the target
        confirmed, or None for all of them. Raise if the write fails."""

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
    """Buffers the batches of a unit, and passes them to the plugin's ``write`` at the end."""

    def __init__(self, plugin: SimpleSink, context: WriteContext) -> None:
        self._plugin, self._context = plugin, context
        self._rows = 0
        self._spool = tempfile.SpooledTemporaryFile(max_size=MEMORY_BYTES_MAX)  # noqa: SIM115 - closed by stage or abort

    def write(self, batch: Batch) -> None:
        self._refuse_changes(batch)
        self._plugin.check(batch)
        self._rows += batch.rows
        if not self._context.trial:
            import pickle  # here, so that commands start without it

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
                "drop such rows with the transform FilterRowKind",
            )
        if batch.lacks_cells:
            raise FatalError(
                f"table {batch.table}: {self._plugin.name} writes whole rows, but the source sent a row without some "
                "of its cells",
                "configure the source to send whole rows",
            )
