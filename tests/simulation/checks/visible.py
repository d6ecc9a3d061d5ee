"""Checkers of what becomes visible in sinks: I1 to I5, and that sinks behind one vertex agree."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, ClassVar

from seatunnel_py.protocol.model.topology import SinkKind, VertexDeterminism
from tests.simulation.checks.checker import Checker
from tests.simulation.checks.drivers import Driver, Shown
from tests.simulation.checks.states import written_in
from tests.simulation.jobs.rows import Row, identity, letter
from tests.simulation.jobs.shapes import Role
from tests.simulation.jobs.targets import Answer, SimulatedLedger

if TYPE_CHECKING:
    from tests.simulation.checks.line import Line


def rows_of(pieces: Any) -> list[Row]:
    """Of pieces that were committed."""
    return [tuple(row) for piece in pieces for row in piece.data["rows"]]  # type: ignore[misc]


class Visible(Checker):
    """What all of them share."""

    def kind(self, driver: Driver, target: Shown) -> SinkKind:
        """What the sinks of a scope promise."""
        return next(
            one.sink
            for one in driver.whole.vertices
            if one.commit_scope == target.scope and one.sink is not SinkKind.NONE
        )


class I1NoLoss(Checker):
    """What has to arrive has arrived when success is reported."""

    after: ClassVar = {"end": "end"}

    def end(self) -> None:
        if self.line.before is not None:
            return
        for name, wanted in self.line.wanted().items():
            missing = wanted - Counter(map(identity, self.line.targets[name].shown))
            self.expect(
                not missing or name in self.line.unrecoverable,
                f"{name} lacks {sum(missing.values())} rows, for instance {next(iter(missing), None)}",
            )


class I2NoDuplicate(Visible):
    """No row stands twice in a two-phase sink; looked at with every commit."""

    after: ClassVar = {"committed": "committed", "emptied": "emptied", "end": "end"}

    def committed(self, driver: Driver, target: Shown, command: Any, answer: Answer, pieces: Any) -> None:
        if answer is not Answer.DONE:
            return
        if self.kind(driver, target) is not SinkKind.TWO_PHASE:
            self.line.root.again.add(target.node)
            return
        seen = self.line.root.seen.setdefault(target.node, set())
        for row in rows_of(pieces):
            self.expect(identity(row) not in seen, f"{target.node} shows {identity(row)} twice")
            seen.add(identity(row))

    def emptied(self, node: str, ledger: SimulatedLedger) -> None:
        self.line.root.seen.pop(node, None)

    def end(self) -> None:
        if self.line.before is not None:
            return
        for name, wanted in self.line.wanted().items():
            more = Counter(map(identity, self.line.targets[name].shown)) - wanted
            text = f"{name} shows {sum(more.values())} rows too many, for instance {next(iter(more), None)}"
            self.expect(not more or name in self.line.again, text)


class I3Order(Visible):
    """Along each path the rows of a split become visible in the order of the source."""

    after: ClassVar = {"committed": "committed", "emptied": "emptied"}

    def __init__(self, line: Line) -> None:
        super().__init__(line)
        self.last: dict[Any, int] = {}
        roles, levels = line.job.roles, line.job.levels
        self.judged = not any(role is Role.RETRY for role in roles.values()) and not any(
            level is VertexDeterminism.UNORDERED for level in levels.values()
        )

    def committed(self, driver: Driver, target: Shown, command: Any, answer: Answer, pieces: Any) -> None:
        if not self.judged or answer is not Answer.DONE or self.kind(driver, target) is not SinkKind.TWO_PHASE:
            return
        last = self.last
        for row in rows_of(pieces):
            key = (target.node, row[0], row[1], row[3])
            self.expect(last.get(key, -1) < row[2], f"{target.node} shows {row} behind row {last.get(key)}")
            last[key] = row[2]

    def emptied(self, node: str, ledger: SimulatedLedger) -> None:
        self.last = {key: number for key, number in self.last.items() if key[0] != node}


class I4PrefixVisibility(Visible):
    """After commit n as many rows are visible as the states of the sink in checkpoint n have written, and as were
    visible when its table joined its log."""

    after: ClassVar = {"driver": "begins", "committed": "committed", "emptied": "emptied"}

    def __init__(self, line: Line) -> None:
        super().__init__(line)
        self.before: dict[str, int] = {}
        """By sink, the rows from before its table has joined."""

    def begins(self, driver: Driver) -> None:
        joined = () if driver.joined is None else driver.joined.tables
        nodes = {one.id for one in driver.machine.context.pipeline.sinks if one.table.path in joined}
        targets = (one for each in driver.targets().values() for one in each if one.node in nodes)
        self.before |= {one.node: len(one.ledger.shown) for one in targets}

    def emptied(self, node: str, ledger: SimulatedLedger) -> None:
        self.before.pop(node, None)

    def committed(self, driver: Driver, target: Shown, command: Any, answer: Answer, pieces: Any) -> None:
        if answer is not Answer.DONE or self.kind(driver, target) is not SinkKind.TWO_PHASE:
            return
        if target.scope in self.line.root.apart or driver.machine.isolated.known_bad:
            return  # what an isolated sink has staged is dropped, and read again
        record = self.line.known(command.checkpoint)
        wanted = sum(
            written_in(one.state).get(target.node, 0)
            for subtask, one in record.snapshots.items()
            if driver.whole.by_id[subtask.vertex].commit_scope == target.scope
        )
        shown = len(target.ledger.shown) - self.before.get(target.node, 0)
        text = f"{target.node} shows {shown} rows after checkpoint {command.checkpoint}, whose states hold {wanted}"
        self.expect(shown == wanted, text)


class I5NoPhantom(Checker):
    """Only what a completed checkpoint names becomes visible."""

    after: ClassVar = {"committed": "committed"}

    def committed(self, driver: Driver, target: Shown, command: Any, answer: Answer, pieces: Any) -> None:
        if answer is not Answer.DONE:
            return
        record = self.line.known(command.checkpoint)
        self.expect(record is not None, f"{target.node} committed {command.checkpoint}, which never completed")
        named = {piece.name for one in record.snapshots.values() for piece in one.pieces}
        named |= {piece.name for commit in record.uncommitted for piece in commit.pieces}
        wrong = [piece.name for piece in command.pieces if piece.name not in named]
        self.expect(not wrong, f"{target.node} shows {wrong}, which checkpoint {command.checkpoint} does not name")


class SiblingsAgree(Checker):
    """Part of I22: sinks behind the same counting vertex saw it give each row the same number."""

    after: ClassVar = {"end": "end"}

    def end(self) -> None:
        job = self.line.job
        if self.world.lied or self.line.before is not None:
            return
        changing = {
            letter(name)
            for name, role in job.roles.items()
            if role is Role.COUNT or job.levels[name] is VertexDeterminism.INDETERMINATE
        }
        tags: dict[Any, int] = {}
        for name, ledger in self.line.targets.items():
            if name in self.line.again or self.line.apart:
                continue  # one that was isolated has read its rows by itself
            for row in ledger.shown:
                key = _last_change(row, changing)
                if key is not None:
                    other = tags.setdefault(key, row[4])
                    self.expect(other == row[4], f"{name} shows {row}, a sibling has the number {other}")


def _last_change(row: Row, changing: set[str]) -> Any:
    path = row[3]
    at = max((path.rfind(one) for one in changing), default=-1)
    return None if at < 0 else (row[:3], path[: at + 1])


CHECKERS = (I1NoLoss, I2NoDuplicate, I3Order, I4PrefixVisibility, I5NoPhantom, SiblingsAgree)
