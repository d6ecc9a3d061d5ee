"""Changes of schemas: targets are altered between the rows of two versions, and take rows of their own version only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from tests.simulation.checks.checker import Checker
from tests.simulation.checks.drivers import Driver, Shown
from tests.simulation.checks.visible import rows_of
from tests.simulation.jobs.sources import source_of
from tests.simulation.jobs.targets import Answer, SimulatedLedger


class I48AlteredBetweenVersions(Checker):
    """A target is altered for a version when it holds all rows of those before, and no row of it; it takes no row of
    another version."""

    after: ClassVar = {"altered": "altered", "committed": "committed", "emptied": "emptied"}

    def hooks(self) -> dict[Any, Callable[..., None]]:
        return {} if self.line.job.followed is not None else super().hooks()

    def _places(self) -> tuple[int, ...]:
        sources = [one.source for one in self.line.job.pipeline.vertices if one.source is not None]
        return source_of(sources[0]).changes.places

    def altered(self, node: str, ledger: SimulatedLedger, version: int) -> None:
        self.count("a target was altered")
        self.expect(version in (ledger.version, ledger.version + 1), f"{node}: {ledger.version} -> {version}")
        place = self._places()[version - 1]
        shown = {row[2] for row in ledger.shown}
        if version > ledger.version:
            lost = {row for rows in self.world.lost.values() for row in rows}  # they cannot be read a second time
            missing = sorted(set(range(place)) - shown - lost)
            self.expect(not missing, f"{node} is altered for version {version}, and lacks rows {missing[:5]}")
        ledger.version = version

    def committed(self, driver: Driver, target: Shown, command: Any, answer: Answer, pieces: Any) -> None:
        places, version = self._places(), target.ledger.version
        if not places or answer is not Answer.DONE:
            return
        for row in rows_of(pieces):
            found = sum(place <= row[2] for place in places)
            self.expect(found == version, f"{target.node} has version {version}, and takes row {row[2]} of {found}")

    def emptied(self, node: str, ledger: SimulatedLedger) -> None:
        ledger.version = 0


CHECKERS = (I48AlteredBetweenVersions,)
