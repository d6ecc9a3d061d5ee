"""Runs a whole job in this process, for tests and debuggers: no Spark, no worker processes, so that breakpoints
work."""

from __future__ import annotations

import json
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pluggy

from seatunnel_py import app
from seatunnel_py.api.batch import Batch
from seatunnel_py.api.capabilities import Guarantee, SinkCapabilities
from seatunnel_py.api.factory import Factory, SinkFactory, SourceFactory, StepContext, TransformFactory
from seatunnel_py.api.options import SinkOptions
from seatunnel_py.api.schema import TableSchema
from seatunnel_py.api.sink import Piece, Sink, WriteContext, Writer
from seatunnel_py.plan.plugins.installed import Registration, hooks, installed
from seatunnel_py.plan.plugins.registry import PROJECT, PluginKind
from seatunnel_py.runtime.observe.receipt import Receipt
from seatunnel_py.runtime.storage.home import Home

_KINDS: Mapping[type[Factory], PluginKind] = {
    SourceFactory: PluginKind.SOURCE,
    TransformFactory: PluginKind.TRANSFORM,
    SinkFactory: PluginKind.SINK,
}


@dataclass(frozen=True, slots=True)
class JobRun:
    """Result of a job. ``rows`` are the rows of its sinks ``Collect``, by table; ``traces`` the tracebacks of its
    failures."""

    receipt: Receipt
    rows: Mapping[str, list[tuple[Any, ...]]]
    traces: tuple[str, ...]


def run_job(text: str, plugins: Sequence[type[Factory]] = (), variables: Mapping[str, str] | None = None) -> JobRun:
    """Run a job file to its end. ``plugins`` need not be installed; a sink named ``Collect`` keeps the rows.

    Units run on threads of this process, one after the other for each table: `breakpoint()` works in all of a plugin's
    methods. Raises SeaTunnelError for errors before a table starts; later errors are in the receipt.
    """
    collected: dict[str, dict[str, list[tuple[Any, ...]]]] = defaultdict(dict)
    with tempfile.TemporaryDirectory(prefix="seatunnel-job-") as root, _registered((*plugins, _collecting(collected))):
        path, home = Path(root, "job.conf"), Home(Path(root, "home").resolve())
        path.write_text(text, encoding="utf-8")
        options = app.RunOptions(dict(variables or {}), local=True)
        receipt = app.run(path, options, home, lambda event: None, lambda driver: None)
        traces = tuple(dict.fromkeys(_traces(home.job(receipt.job_id).events)))
    rows = {table: [row for unit in sorted(units) for row in units[unit]] for table, units in collected.items()}
    return JobRun(receipt, rows, traces)


def _traces(events: Path) -> Iterator[str]:
    for line in events.read_text(encoding="utf-8").splitlines():
        cause = json.loads(line).get("cause")
        if isinstance(cause, dict) and cause.get("trace"):
            yield str(cause["trace"])


# ---------------------------------------------------------------- plugins of this run


class _Given:
    """A hook implementation that adds the plugins of a run, except the installed ones."""

    def __init__(self, factories: Sequence[type[Factory]]) -> None:
        self._factories = factories

    @pluggy.HookimplMarker(PROJECT)
    def seatunnel_register(self, registration: Registration) -> None:
        for factory in self._factories:
            kind = next(kind for base, kind in _KINDS.items() if issubclass(factory, base))
            registration.add(kind.value, factory)


@contextmanager
def _registered(factories: Sequence[type[Factory]]) -> Iterator[None]:
    known = {type(found) for found in _installed_as(factories)}
    given = _Given([factory for factory in factories if factory not in known])
    manager = hooks().manager
    manager.register(given)
    installed.cache_clear()
    try:
        yield
    finally:
        manager.unregister(given)
        installed.cache_clear()


def _installed_as(factories: Sequence[type[Factory]]) -> Iterator[Factory]:
    """The installed plugins of these names."""
    registry = installed()
    names = {factory.name.lower() for factory in factories}
    for entry in registry.entries():
        if entry.name.lower() in names:
            yield registry.loaded(entry)


# ---------------------------------------------------------------- rows of this run


@dataclass(frozen=True)
class _Collect(Sink):
    """Stores the rows of each unit under the name of these rows: a repeated unit counts once."""

    units: dict[str, list[tuple[Any, ...]]] = field(compare=False)

    def open(self, context: WriteContext) -> Writer:
        return _CollectWriter(self.units, context.data_id)


class _CollectWriter(Writer):
    def __init__(self, units: dict[str, list[tuple[Any, ...]]], name: str) -> None:
        self._units, self._name = units, name
        self._rows: list[tuple[Any, ...]] = []

    def write(self, batch: Batch) -> None:
        self._rows += [tuple(row.values()) for row in batch.data.to_pylist()]

    def stage(self) -> Piece:
        self._units[self._name] = self._rows
        return Piece(len(self._rows))

    def abort(self) -> None:
        return


def _collecting(collected: dict[str, dict[str, list[tuple[Any, ...]]]]) -> type[SinkFactory[SinkOptions]]:
    class CollectFactory(SinkFactory[SinkOptions]):
        name = "Collect"
        summary = "keeps the rows for a test"
        options = SinkOptions

        def capabilities(self, options: SinkOptions, table: TableSchema, context: StepContext) -> SinkCapabilities:
            return SinkCapabilities(Guarantee.IDEMPOTENT, "rows are kept under the name of their unit")

        def create(self, options: SinkOptions, table: TableSchema, context: StepContext) -> Sink:
            return _Collect(collected[str(table.path)])

    return CollectFactory
