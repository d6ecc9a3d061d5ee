"""Builds the parts of a pipeline's machine, in the order of their dependencies, and its executions."""

from __future__ import annotations

from dataclasses import dataclass

from seatunnel_py.plan.pipelines import PlannedVertex
from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.protocol.participant.participant import Participant
from seatunnel_py.runtime.pipeline.closing import Closing
from seatunnel_py.runtime.pipeline.end_of_input import EndOfInput
from seatunnel_py.runtime.pipeline.generation_renewal import GenerationRenewal
from seatunnel_py.runtime.pipeline.isolated_sinks import IsolatedSinks
from seatunnel_py.runtime.pipeline.log_replanning import LogReplanning
from seatunnel_py.runtime.pipeline.restart_report import RestartReport
from seatunnel_py.runtime.pipeline.split_discovery import SplitDiscovery
from seatunnel_py.runtime.pipeline.staged_cleanup import StagedCleanup
from seatunnel_py.runtime.pipeline.unit_attempts import UnitAttempts
from seatunnel_py.runtime.resume.pipeline_start import StartPlan
from seatunnel_py.runtime.state.context import PipelineContext
from seatunnel_py.runtime.state.shared_state import SharedState
from seatunnel_py.runtime.subtasks.segment_retention import SegmentRetention
from seatunnel_py.runtime.subtasks.subtask_execution import SubtaskExecution
from seatunnel_py.runtime.subtasks.unit_table import UnitTable
from seatunnel_py.runtime.values.split_progress import assign_splits


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of one machine. Each owns its data; they share the state."""

    state: SharedState
    executions: dict[Subtask, SubtaskExecution]
    units: UnitTable
    segments: SegmentRetention
    isolated: IsolatedSinks
    cleanup: StagedCleanup
    closing: Closing
    discovery: SplitDiscovery
    renewal: GenerationRenewal
    attempts: UnitAttempts
    end_of_input: EndOfInput
    restarts: RestartReport
    replanning: LogReplanning


def parts_of(context: PipelineContext) -> Parts:
    """Build the parts of a pipeline that has not begun."""
    state = SharedState(context)
    executions: dict[Subtask, SubtaskExecution] = {}
    units, segments = UnitTable(state), SegmentRetention(state)
    isolated = IsolatedSinks(state, executions)
    cleanup = StagedCleanup(state, executions, units, isolated)
    closing = Closing(state, isolated, cleanup, segments)
    discovery = SplitDiscovery(state, executions, closing)
    renewal = GenerationRenewal(state, discovery, closing)
    loops = any(vertex.retry is not None for vertex in context.pipeline.vertices)
    return Parts(
        state, executions, units, segments, isolated, cleanup, closing, discovery, renewal,
        UnitAttempts(state, renewal), EndOfInput(loops=loops), RestartReport(),
        LogReplanning(state, executions, closing),
    )  # fmt: skip


def begin_executions(parts: Parts, vertex: PlannedVertex, outcome: StartPlan) -> None:
    """Make the participants and executions of a vertex, and deal its splits out."""
    state = parts.state
    topology, settings = state.context.graph.topology, state.context.settings
    subtasks = topology.subtasks([vertex.id])
    hands = assign_splits(state.prepared.rounds.get(vertex.id, ()), len(subtasks))
    for subtask, hand in zip(subtasks, hands, strict=True):
        participant = state.participants[subtask] = Participant(subtask, topology, settings.alignment_timeout)
        numbering = outcome.numberings.get(subtask, outcome.graph[1])
        parts.executions[subtask] = SubtaskExecution(
            state, parts.units, parts.segments, vertex, participant, hand, numbering
        )
