"""Mutants for tables that are copied again, restarts that meet journal entries, and commits of isolated sinks."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, runtime

EMPTIED = "tests/unit/runtime/test_emptied_targets.py"
COPIED = "tests/unit/plan/test_copied_again.py"
LETTERS = "tests/unit/runtime/test_machine_letters.py"
COMMANDS, MACHINE = "pipeline/coordinator_commands.py", "pipeline/pipeline_machine.py"
REPLANNING, LOGS = "pipeline/log_replanning.py", "driver/log_pipelines.py"

MUTANTS: tuple[Mutant, ...] = (
    # ---- journal entries under way at a restart
    runtime(
        "an execution is restored while an entry is under way",
        COMMANDS,
        "    if subtask in state.logging:\n        state.restarting[subtask] = command\n",
        "    if False:\n        pass\n",
        "coordinator_commands 5, I39",
        LETTERS,
    ),
    runtime(
        "an execution is never restored after it has waited for an entry",
        COMMANDS,
        "        del state.restarting[command.subtask]\n        _restore(parts, command)\n",
        "        del state.restarting[command.subtask]\n",
        "coordinator_commands 5",
        LETTERS,
    ),
    # ---- targets that are emptied
    runtime(
        "a target is emptied before the journal knows",
        MACHINE,
        "        if self.context.past.empties:\n",
        "        if False:\n",
        "begun_logs 4",
        EMPTIED,
    ),
    runtime(
        "a pipeline ends while the line about its targets is under way",
        MACHINE,
        "        if not len(self.units) and not len(self.state.calls) and not self.state.is_emptying:\n",
        "        if not len(self.units) and not len(self.state.calls):\n",
        "pipeline_machine 4",
        EMPTIED,
    ),
    runtime(
        "an overtaken driver may empty a target",
        "storage/journal.py",
        'return voids(line) or "emptied" in line',
        "return voids(line)",
        "journal_writer 4, I34",
        EMPTIED,
    ),
    runtime(
        "a target that knows a newer driver is emptied",
        "targets/sink_operations.py",
        "    for group in groups:\n        begin(group[0], setups, job, newest)\n    for node in nodes:\n",
        "    for node in nodes:\n",
        "I34",
        EMPTIED,
    ),
    runtime(
        "a target does not learn which driver calls it",
        "values/chain_builder.py",
        "checkpoint, self.incarnation, final",
        "checkpoint, 1, final",
        "I34",
        EMPTIED,
    ),
    # ---- a log and the copies of its tables
    runtime(
        "a copy waits for a log that its table has left",
        "resume/begun_logs.py",
        "leaves.issubset(left) and set(begun.tables) <= set(rest.tables)",
        "leaves.issubset(left) and set(begun.tables) == set(rest.tables)",
        "begun_logs 7",
        COPIED,
    ),
    runtime(
        "a table is copied again though it is still in its log",
        LOGS,
        "        return [one for one in copies if not again.isdisjoint(one.pipeline.tables)]\n",
        "        return []\n",
        "table_reset 3",
        COPIED,
    ),
    runtime(
        "a log is left while a sender has batches to repeat",
        REPLANNING,
        "            or snapshots[one.receiver].applied.get(one, 0) != snapshots[one.sender].sent.get(one, 0)\n",
        "",
        "log_replanning 7, I22",
        COPIED,
    ),
    # ---- commits of isolated sinks
    runtime(
        "the pipeline of an isolated sink repeats its commits beside its recovery",
        "resume/isolated_sink_recovery.py",
        "left = tuple(one for one in past.record.uncommitted if one.scope not in scopes)",
        "left = past.record.uncommitted",
        "isolated_sink_recovery 6",
        "tests/unit/runtime/test_recovery_commits.py",
    ),
    runtime(
        "the commits of a sink that cannot be recovered are forgotten",
        "resume/isolated_sink_recovery.py",
        "scopes = {one.scope for one in recoveries if isinstance(one, RecoveryPipeline)}",
        "scopes = {one.scope for one in recoveries}",
        "isolated_sink_recovery 6",
        "tests/unit/runtime/test_recovery_commits.py",
    ),
)
