"""What workers do: one unit's rows, and the state afterwards. A part of ``Driver``, in a file of its own.

A source that can be read only once gives a row once: what a unit has read and made durable is gone from it. Where the
journal still names it the rows come from there, else they are lost for ever, and noted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seatunnel_py.protocol.coordinator.commands import Restart
from seatunnel_py.protocol.model.ids import Channel, Subtask
from seatunnel_py.protocol.model.stream_elements import JournalUse, StagedPiece
from seatunnel_py.protocol.model.topology import SinkKind, VertexDeterminism
from seatunnel_py.protocol.participant import messages as task
from tests.simulation.rows import Lost, Rows, digest, taken
from tests.simulation.storage import Answer

if TYPE_CHECKING:
    from tests.simulation.driver import Driver, Node
    from tests.simulation.pipelines import Pipeline
    from tests.simulation.rows import Machinery

Outcome = tuple[Any, ...]
"""The fields of UnitDone: state, outputs, pieces, range, ended."""


class Sources:
    """Sources as they are outside. ``read``: up to where a split that can be read only once was taken from it."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.once = {vertex.id for vertex in pipeline.topology.vertices if not vertex.replayable}
        self.read: dict[tuple[str, int], int] = {}
        self.lost: Lost = {}

    def logged(self, subtask: Subtask, taken_range: Any) -> None:
        """What a unit read is durable: the source need not give it again, and one like this does not."""
        if subtask.vertex in self.once and taken_range is not None:
            split, _, end = taken_range
            self.read[subtask.vertex, split] = max(end, self.read.get((subtask.vertex, split), 0))

    def restarted(self, restart: Restart, machinery: Machinery) -> bool:
        """Without its journal a new life lacks what was read since its snapshot. True: something is lost."""
        vertex = restart.subtask.vertex
        if vertex not in self.once or restart.replay is not JournalUse.VOID:
            return False
        state = (restart.snapshot.state if restart.snapshot else None) or machinery.splits(restart.subtask)
        positions = {**dict.fromkeys(state["unassigned"], 0), **state["assigned"]}
        found = False
        for split, position in positions.items():
            read = self.read.get((vertex, int(split)), 0)
            if position < read:
                found = True
                self.lost.setdefault((vertex, int(split)), set()).update(range(position, read))
        return found


def work(driver: Driver, node: Node, command: task.RunUnit) -> Outcome | None:
    """One unit. None: the target refused its rows."""
    if command.channel is None:
        return _read(driver, node.subtask, command)
    if node.subtask.vertex in driver.world.targets:
        return _write(driver, node, command)
    return _transform(driver, node, command)


def _salt(driver: Driver, vertex: str) -> int:
    determinate = driver.machinery.levels[vertex] is VertexDeterminism.DETERMINATE
    return 0 if determinate else driver.world.choices.rows.below(1 << 20)


def _outputs(driver: Driver, subtask: Subtask, rows: Rows) -> tuple[tuple[Channel, Rows, int, int], ...]:
    return tuple((channel, part, len(part), digest(part)) for channel, part in driver.machinery.route(subtask, rows))


def _read(driver: Driver, subtask: Subtask, command: task.RunUnit) -> Outcome:
    """Some rows of one split: those of the journal's range, else the next ones."""
    vertex, machinery, pipeline = subtask.vertex, driver.machinery, driver.pipeline
    state = command.state or machinery.splits(subtask)
    assigned, waiting, finished = dict(state["assigned"]), list(state["unassigned"]), list(state["finished"])
    length = driver.world.choices.rows.between(1, pipeline.budget)
    salt = _salt(driver, vertex)
    if not assigned and waiting:
        assigned[waiting.pop(0)] = 0
    if not assigned:
        return {"assigned": {}, "unassigned": [], "finished": finished}, (), (), None, True
    if command.range is not None:
        split, start, end = command.range
        if vertex in driver.world.sources.once:
            driver.world.count("rows of a source that can be read only once were kept")
    else:
        split = int(min(assigned))
        start = max(assigned[str(split)], driver.world.sources.read.get((vertex, split), 0))
        end = min(pipeline.rows[vertex], start + length)
    assigned[str(split)] = end
    if end >= pipeline.rows[vertex]:
        finished.append(str(split))
        del assigned[str(split)]
    rows = machinery.transform(vertex, None, machinery.source(vertex, split, start, end), salt)
    after = {"assigned": assigned, "unassigned": waiting, "finished": finished}
    return after, _outputs(driver, subtask, rows), (), (split, start, end), not assigned and not waiting


def _transform(driver: Driver, node: Node, command: task.RunUnit) -> Outcome:
    world, vertex, rows = driver.world, node.subtask.vertex, command.batch.payload
    made = driver.machinery.transform(vertex, command.state, rows, _salt(driver, vertex))
    repeated = command.number in world.observer.life(driver, node).journal
    if repeated and world.faults.strikes("replay makes other rows"):
        world.lied = True
        made = tuple((*row[:5], row[5] + 7) for row in made)
    return taken(command.state, rows), _outputs(driver, node.subtask, made), (), None, False


def _write(driver: Driver, node: Node, command: task.RunUnit) -> Outcome | None:
    world, subtask = driver.world, node.subtask
    name = f"{subtask}/{driver.incarnation}.{command.epoch}/{command.number}"
    target, rows = world.targets[subtask.vertex], command.batch.payload
    answer = target.write(subtask, driver.incarnation, command.epoch, name, rows)
    world.tell("written", driver, node, command, answer)
    if answer is Answer.FENCED:
        world.count("a zombie's write was refused")
        return None
    pieces = (StagedPiece(name, len(rows)),) if target.kind is SinkKind.TWO_PHASE else ()
    return taken(command.state, rows), (), pieces, None, False
