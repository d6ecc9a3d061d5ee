"""Targets of a followed job: one table gets the rows of its copy and of its log, by two sinks with a ledger each."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from seatunnel_py.api import CommitContext, FatalError, SchemaChange, Setup
from tests.simulation.jobs.targets import SimulatedLedger, SimulatedSink
from tests.simulation.jobs.versions import VERSION, altered_for


@dataclass(eq=False)
class TargetTable:
    """``version``: of its schema; ``copied``, ``logged``: the ledgers of its two sinks; ``refused``: versions that it
    does not take until a person has mended it; ``places``: of the rows in it, in the order in which they came."""

    name: str
    version: int = 0
    refused: set[int] = field(default_factory=set)
    places: list[int] = field(default_factory=list)
    copied: SimulatedLedger = field(default_factory=SimulatedLedger)
    logged: SimulatedLedger = field(default_factory=SimulatedLedger)

    def __post_init__(self) -> None:
        self.copied.table = self.logged.table = self

    def empty(self) -> None:
        """All rows go. The ledger of the log keeps its commits, though they show nothing any more."""
        self.copied.commits.clear()
        self.logged.emptied |= self.logged.commits.keys()
        self.places.clear()


@dataclass(frozen=True)
class FollowedSink(SimulatedSink):
    """``version``: of the table that it is planned for."""

    version: int = 0

    @property
    def _table(self) -> TargetTable:
        assert isinstance(self.state, SimulatedLedger)
        return self.state.table  # type: ignore[no-any-return]

    @property
    def can_be_emptied(self) -> bool:
        return True

    def plan_setup(self) -> Setup:
        """Refuses rows of a version that the table does not have."""
        table = self._table
        if self.state is table.logged and table.version < self.version:
            raise FatalError(f"{self.name} has no version {self.version}", "mend the target")
        setup = super().plan_setup()
        return replace(setup, data={**setup.data, VERSION: self.version})

    def prepare(self, setup: Setup) -> None:
        super().prepare(setup)
        if self.state is self._table.copied:
            self._table.version = int(str(setup.data[VERSION]))

    def alter(self, change: SchemaChange, setup: Setup) -> Setup:
        self.state.tell("alter")
        version = int(str(change.after.options[VERSION]))
        if version in self._table.refused:
            raise FatalError(f"{self.name} does not take version {version}", "mend the target")
        made = altered_for(change, setup)
        self.state.seen("altered", version)  # type: ignore[attr-defined]
        return made

    def truncate(self, setup: Setup, context: CommitContext) -> None:
        self.state.tell("truncate")
        self.state.belongs_to(context.incarnation)  # type: ignore[attr-defined]
        self._table.empty()
        self.state.seen("emptied")  # type: ignore[attr-defined]
