"""Mutants for the machine of a pipeline: its calls, its journal, its beginning and its end."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, runtime

CALLS, SHARED = "state/calls.py", "state/shared_state.py"
MACHINE, CLOSING = "pipeline/pipeline_machine.py", "pipeline/closing.py"
ANSWERS, COMMANDS = "pipeline/call_answers.py", "pipeline/coordinator_commands.py"
PARTICIPANT, CLEANUP = "pipeline/participant_commands.py", "pipeline/staged_cleanup.py"

MUTANTS: tuple[Mutant, ...] = (
    # ---- calls
    runtime(
        "an answered call stays open",
        CALLS,
        "call = self._open.pop(number, None)",
        "call = self._open.get(number)",
        "calls 2",
    ),
    runtime("numbers of calls do not grow", CALLS, "self._last += 1", "self._last = len(self._open) + 1", "calls 2"),
    runtime(
        "a call that is made again keeps its number",
        SHARED,
        "effect = replace(call.effect, call=self.calls.next_number())",
        "effect = call.effect",
        "calls 3",
    ),
    runtime(
        "a pause forgets how often a call has failed",
        CALLS,
        "replace(call, tries=call.tries + 1, retried=True)",
        "replace(call, retried=True)",
        "calls 3",
        "tests/unit/runtime/test_machine_calls.py",
    ),
    runtime(
        "a pause keeps the pipeline open",
        CALLS,
        "        return len(self._open)\n",
        "        return len(self._open) + len(self._pausing)\n",
        "calls 3",
        "tests/unit/runtime/test_machine_calls.py",
    ),
    runtime(
        "a call is made again behind the end",
        SHARED,
        "if call is not None and not self.is_over:",
        "if call is not None:",
        "pipeline_machine 4",
        "tests/unit/runtime/test_machine_calls.py",
    ),
    runtime(
        "a call that may succeed later is not made again",
        ANSWERS,
        '        state.after(("call", state.calls.pauses(call)), delay)\n',
        "        state.calls.pauses(call)\n",
        "calls 3",
    ),
    runtime(
        "a call is tried for ever",
        ANSWERS,
        "state.context.settings.retry.delay(failure, call.tries)",
        "state.context.settings.retry.delay(failure, 0)",
        "call_answers 2",
        "tests/unit/runtime/test_machine_calls.py",
    ),
    runtime(
        "a late answer leads on",
        ANSWERS,
        "table = LATE if parts.state.is_over else DONE",
        "table = {**LATE, **DONE}",
        "call_answers 1",
    ),
    runtime(
        "what hears a reader may fail late",
        ANSWERS,
        "LATE: Mapping[type, Follow] = {\n    effects.HandleReaderEvents: _heard,\n",
        "LATE: Mapping[type, Follow] = {\n",
        "call_answers 1",
        "tests/unit/runtime/test_machine_sources.py",
    ),
    runtime(
        "a close that fails is not heard",
        ANSWERS,
        "LATE_FAILED: Mapping[type, Follow] = {\n    effects.AbortPieces: _not_dropped,\n    effects.HandleReaderEvents: _heard,\n    effects.CloseOut: _swept,\n",
        "LATE_FAILED: Mapping[type, Follow] = {\n    effects.AbortPieces: _not_dropped,\n    effects.HandleReaderEvents: _heard,\n",
        "call_answers 1",
    ),
    runtime(
        "rows that could not be dropped are forgotten",
        ANSWERS,
        "    parts.units.strays += effect.pieces\n",
        "",
        "staged_cleanup 2",
        "tests/unit/runtime/test_machine_end.py",
    ),
    # ---- the journal comes first
    runtime(
        "a unit counts before it is logged",
        PARTICIPANT,
        "    if run.journaled:\n",
        "    if run.journaled:\n        state.to_participant(run.subtask, logged)\n",
        "pipeline_machine 3",
    ),
    runtime(
        "an execution begins before its journal is cut",
        COMMANDS,
        "    state.journal([line], Deliver(subtask, event))\n",
        "    state.to_participant(subtask, event)\n    state.journal([line], Deliver(subtask, event))\n",
        "coordinator_commands 2",
    ),
    runtime(
        "an execution begins, and its journal is not cut",
        COMMANDS,
        "if command.replay is JournalUse.WHOLE or not run.journaled:",
        "if True:",
        "coordinator_commands 2",
        "tests/unit/runtime/test_machine_letters.py",
    ),
    runtime(
        "a set-up counts before it is logged",
        ANSWERS,
        "    state.journal([done_line(state.context.key, effect.group)], Deliver(None, event))\n",
        "    state.to_coordinator(event)\n",
        "call_answers 1",
        "tests/unit/runtime/test_machine_end.py",
    ),
    runtime(
        "lines of a beginning are not awaited",
        MACHINE,
        "            state.journal(lines, Activate())\n",
        "            state.journal(lines, Activate())\n            self._activate()\n",
        "pipeline_machine 2",
    ),
    runtime(
        "all rows are dropped before the journal says so",
        CLOSING,
        "            self._state.journal([dropped_line(self._state.context.key)], DropAll())\n",
        "            self._close_out(kind)\n",
        "phases 3",
    ),
    runtime(
        "lines that were lost drop all rows",
        MACHINE,
        "            case _:\n                self.closing.drop_all(ours=False)",
        "            case _:\n                self.closing.drop_all(ours=True)",
        "staged_cleanup 3",
        "tests/unit/runtime/test_machine_end.py",
    ),
    runtime(
        "lines that were lost let a subtask go on",
        MACHINE,
        "            case EmptyTargets() | Activate() | Deliver():\n                pass\n",
        "            case EmptyTargets() | Activate():\n                pass\n            case Deliver(subtask, letter):\n"
        "                self.state.mail.append((subtask, letter))\n",
        "pipeline_machine 3",
        "tests/unit/runtime/test_machine_end.py",
    ),
    # ---- the beginning
    runtime(
        "chains are registered, and no answer is awaited",
        MACHINE,
        "RegisterChains(number, vertices, setups), retried=False)\n",
        "RegisterChains(number, vertices, setups), retried=False)\n        self._registered()\n",
        "phases 1",
    ),
    runtime(
        "chains are not registered",
        MACHINE,
        "vertices = () if done_before else tuple(vertex.id for vertex in self.pipeline.vertices)",
        "vertices = ()",
        "pipeline_machine 2",
    ),
    runtime(
        "a beginning behind the end",
        MACHINE,
        "        if not state.is_over:\n            state.advance(PhaseEvent.BEGUN)\n",
        "        if True:\n            state.advance(PhaseEvent.BEGUN)\n",
        "phases 2",
        "tests/unit/runtime/test_machine_end.py",
    ),
    runtime(
        "what earlier drivers have left is not given up",
        MACHINE,
        "lines = [dropped_line(self.key)] if outcome.anew else []",
        "lines = []",
        "pipeline_machine 2",
        "tests/unit/runtime/test_machine_end.py",
    ),
    # ---- records before commits
    runtime(
        "records are not stored",
        COMMANDS,
        "    parts.state.emit(effects.StoreRecord(command.record))\n",
        "    pass\n",
        "coordinator_commands 3",
    ),
    runtime(
        "a record counts before it is durable",
        COMMANDS,
        "    parts.state.emit(effects.StoreRecord(command.record))\n",
        "    parts.state.emit(effects.StoreRecord(command.record))\n"
        "    from seatunnel_py.protocol.coordinator.events import Persisted\n"
        "    parts.state.to_coordinator(Persisted(parts.state.at, command.record.checkpoint))\n",
        "coordinator_commands 3",
    ),
    runtime(
        "a last commit is not told that it is",
        COMMANDS,
        "final = newest.kind is RecordKind.FINAL and newest.checkpoint == checkpoint",
        "final = False",
        "coordinator_commands 3",
    ),
    runtime(
        "the journal never forgets",
        COMMANDS,
        "        state.emit(effects.CompleteRecord(newest))\n",
        "",
        "coordinator_commands 2",
    ),
    runtime(
        "records are not removed",
        COMMANDS,
        "    parts.state.emit(effects.RemoveRecord(command.checkpoint))\n",
        "    pass\n",
        "coordinator_commands 3",
        "tests/unit/runtime/test_machine_end.py",
    ),
    runtime(
        "a commit that failed counts",
        ANSWERS,
        "report.CommitFailed(state.at, driver, scope, effect.checkpoint, reason_of(failure))",
        "report.CommitConfirmed(state.at, driver, scope, effect.checkpoint)",
        "call_answers 2",
    ),
    runtime(
        "a failpoint comes before its word is known",
        MACHINE,
        "                self._drain()  # the coordinator knows before the failpoint is passed\n",
        "",
        "pipeline_machine 3",
    ),
    runtime(
        "a pipeline is ended before people know",
        COMMANDS,
        "        closing.arrived(TableState.STOPPED if command.savepoint and not has_ended else TableState.DONE)\n"
        "        parts.state.emit(effects.HitFailpoint(failpoints.ENDED))\n",
        "        parts.state.emit(effects.HitFailpoint(failpoints.ENDED))\n"
        "        closing.arrived(TableState.STOPPED if command.savepoint and not has_ended else TableState.DONE)\n",
        "coordinator_commands 3",
    ),
)
