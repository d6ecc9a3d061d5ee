"""Mutants of jobs that copy tables and follow their log: tables that join, leave, are copied again, wait and go back,
and how far the log is confirmed meanwhile."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, runtime

PLAN = "seatunnel_py.plan"
GROWTH, BEGUN, RESET = "resume/log_growth.py", "resume/begun_logs.py", "resume/table_reset.py"
START, LOGS, RUNNER = "resume/pipeline_start.py", "driver/log_pipelines.py", "driver/job_runner.py"
JOINED, ALTERATION, HELD = "targets/joined_targets.py", "targets/target_alteration.py", "targets/held_change.py"
KEPT_LOG = "targets/kept_log.py"
BUILDER, REPLANNING, DISCOVERY = (
    "subtasks/unit_builder.py",
    "pipeline/log_replanning.py",
    "pipeline/split_discovery.py",
)

MUTANTS: tuple[Mutant, ...] = (
    # ---- tables that join
    runtime(
        "a log begins with tables that were not copied",
        RUNNER,
        "if not copied or all(path in copied for path in machine.pipeline.tables):",
        "if True:",
        "log_growth 1, I42",
    ),
    runtime(
        "a table joins its log before it is copied",
        LOGS,
        "if not copies or one.schema.path in copied\n        )\n",
        "\n        )\n",
        "log_growth 2, I42",
    ),
    runtime(
        "a table joins its log though its copy has failed",
        LOGS,
        "if one.id in pipeline.after and one.shown_state is TableState.DONE\n",
        "if one.id in pipeline.after and one.shown_state.ended\n",
        "log_growth 2, I42",
    ),
    runtime(
        "a log is read on while tables are to join it",
        REPLANNING,
        "self._state.awaits_record = self._changes_tables or not self._is_in(record)",
        "self._state.awaits_record = not self._is_in(record)",
        "log_replanning 10, log_growth 1",
    ),
    runtime(
        "a log is read on when a record holds its plan, though tables are to join it",
        REPLANNING,
        "ends = self._state.awaits_record and not self._changes_tables and self._is_in(record)",
        "ends = self._state.awaits_record and self._is_in(record)",
        "log_replanning 10, log_growth 1",
    ),
    runtime(
        "a log that a table has joined reads its old split",
        JOINED,
        "splits = tuple(joined.begun.split if one.id == joined.begun.split.id else one for one in last.splits)",
        "splits = last.splits",
        "log_growth 4, I42",
    ),
    runtime(
        "the sinks of a table that joins are not set up",
        JOINED,
        "        sink_operations.set_up(new, setups)\n",
        "",
        "pipeline_start 7",
    ),
    runtime(
        "a table joins under the schema of today, and not under that of its copy",
        BEGUN,
        "now = _as_copied(pipeline, pipelines, records, () if record is None else _had(pipeline, record), plan_again)",
        "now = pipeline",
        "begun_logs 2, I48",
    ),
    runtime(
        "the rows of the only table of a log are not counted when another one joins",
        GROWTH,
        "        total = total.plus(replace(tally, read=0))\n",
        "",
        "log_growth 4, I4",
    ),
    runtime(
        "a refused table joins all the same",
        GROWTH,
        "paths = tuple(one.table.schema.path for one in join.tables if one.table.schema.path not in refused)",
        "paths = tuple(one.table.schema.path for one in join.tables)",
        "log_growth 3",
    ),
    Mutant(
        "a log that grows is read under the schemas of today",
        "log_tables.py",
        "together = tuple(own.get(table.schema.path, table) for table in larger.log.tables)",
        "together = larger.log.tables",
        "I48",
        package=PLAN,
    ),
    # ---- tables that leave
    Mutant(
        "no table leaves a log",
        "log_tables.py",
        "return () if now is None else tuple(path for path in pipeline.tables if path not in now.tables)",
        "return ()",
        "I42",
        package=PLAN,
    ),
    runtime(
        "the state of a table holds it in its log",
        GROWTH,
        "gone = record.topology.by_id.keys() - topology.by_id.keys()",
        "gone = frozenset[str]()",
        "log_growth 5",
    ),
    runtime(
        "commits of a table that has left are repeated",
        GROWTH,
        "_placed(_without_commits_of_others(found), log.id, pipeline.tables, begun)",
        "_placed(found, log.id, pipeline.tables, begun)",
        "log_growth 5",
        "tests/unit/plan/test_log_growth.py",
    ),
    # ---- tables that are copied again
    runtime(
        "the target of a table that is copied again keeps its rows",
        START,
        "        if past.reset:\n",
        "        if False:\n",
        "pipeline_start 8, table_reset 1, I42",
    ),
    runtime(
        "the earlier copy of a table that is copied again counts",
        RESET,
        "for line in (dropped_line(key), reset_line(key, begins=True))",
        "for line in (reset_line(key, begins=True),)",
        "table_reset 1",
    ),
    runtime(
        "a reset is forgotten",
        RESET,
        "for line in (dropped_line(key), reset_line(key, begins=True))",
        "for line in (dropped_line(key),)",
        "table_reset 1",
    ),
    runtime(
        "a table is copied again before it has left its log",
        LOGS,
        "                after[key].discard(copy)\n                after[copy].add(key)\n",
        "                pass\n",
        "table_reset 3, I42",
    ),
    runtime(
        "a table that is copied again does not leave its log",
        BEGUN,
        "if leaves := had.intersection(again):",
        "if leaves := frozenset[TablePath]():",
        "table_reset 2, I42",
    ),
    runtime(
        "a log does not wait for the table that is copied again",
        LOGS,
        "return frozenset(key for key, one in copies if not lacks.isdisjoint(one.pipeline.tables))",
        "return frozenset[str]()",
        "table_reset 2",
    ),
    runtime(
        "a reset never ends",
        LOGS,
        "return [reset_line(key, begins=False) for key, one in copies if set(joined).intersection(one.pipeline.tables)]",
        "return []",
        "table_reset 2",
    ),
    runtime(
        "a change of a table that was copied again waits still",
        JOINED,
        "over = {*joined.tables, *frozenset(joined.left).difference(joined.going_back)}",
        "over = set[object]()",
        "begun_logs 3",
    ),
    runtime(
        "a log writes rows of a table whose new copy has begun",
        BEGUN,
        "again, left = _tables(pipelines, resets), _tables(pipelines, emptied)",
        "again, left = _tables(pipelines, resets), frozenset[TablePath]()",
        "begun_logs 4, I42",
    ),
    # ---- changes
    runtime(
        "a restored log is read under the schemas of today",
        BEGUN,
        "begun = _for_tables(begun, tables_in(record.plan), refused_in(record.plan), plan_again)",
        "pass",
        "begun_logs 2, I48",
    ),
    runtime(
        "a target that refuses a change gets rows of the new schema",
        ALTERATION,
        "        else:\n            refused |= dict.fromkeys(reached, made)\n    _require_channels",
        "    _require_channels",
        "target_alteration 3, I48",
    ),
    runtime(
        "the target of an isolated table is altered",
        ALTERATION,
        "reaching = _sources(pipeline, frozenset() if record is None else record.topology.detached)",
        "reaching = _sources(pipeline, frozenset())",
        "target_alteration 1, I48",
    ),
    # ---- tables that wait
    runtime(
        "a table whose target refuses a change does not stop",
        BUILDER,
        "if split is not None and (refused := self._refused.keys() - set(state.refused)):",
        "if split is not None and (refused := frozenset[str]()):",
        "unit_builder 5, I48",
    ),
    runtime(
        "a log stops a table again and again",
        BUILDER,
        "refused=(*state.refused, *refused),",
        "refused=state.refused,",
        "unit_builder 5",
    ),
    runtime(
        "a repeated range does not stop its table",
        BUILDER,
        "        if again.refused:\n            return self._stopping(unit, again.refused, again.end)\n",
        "",
        "unit_builder 5",
    ),
    runtime(
        "a change by which a table stops is not kept for a person",
        ALTERATION,
        "return replace(after, held=held, refused=refused)",
        "return after",
        "target_alteration 5",
    ),
    # ---- tables that go back
    runtime(
        "a decision about a change has no effect",
        HELD,
        "return replace(self, alteration=replace(self.alteration, behavior=behavior))",
        "return self",
        "log_replanning 11",
    ),
    runtime(
        "a table that a person has decided about does not leave its log",
        BEGUN,
        "now = _as_recorded(pipeline, now, record, again.union(held), plan_again, plan_tables, left)",
        "now = _as_recorded(pipeline, now, record, again, plan_again, plan_tables, left)",
        "begun_logs 3",
    ),
    runtime(
        "a table goes back under the schema of today",
        BEGUN,
        "now = _for_tables(now, [one.before for one in held.values()], (), plan_again)",
        "pass",
        "begun_logs 3, I48",
    ),
    runtime(
        "a log that goes back for a table is read on where it was",
        GROWTH,
        "        if begun.position is not None and begun.split.id in reading.at:\n",
        "        if False:\n",
        "log_growth 6, I42",
    ),
    runtime(
        "a log does not go back for a table that goes on",
        GROWTH,
        "    begun = plugin_calls.going_back_by(",
        "    plugin_calls.going_back_by(",
        "log_growth 6, I42",
    ),
    runtime(
        "a table that goes on counts as stopped",
        GROWTH,
        "refused = tuple(name for name in state.refused if name in names)",
        "refused = state.refused",
        "log_growth 6, I48",
    ),
    runtime(
        "the target of a table that goes back is not altered",
        GROWTH,
        "failures = [why for node in larger.sinks if (why := followed_by_target(node, found, one)) is not None]",
        "failures = list[UnitFailure]()",
        "log_growth 6, I48",
    ),
    runtime(
        "the set-ups of a table that waits are lost",
        ALTERATION,
        "setups = {node: setup for node, setup in before.setups.items() if one.path in reached.get(node, ())}",
        "setups = dict[str, Setup]()",
        "target_alteration 5, I48",
    ),
    runtime(
        "a table that goes back is joined at the end of its copy",
        REPLANNING,
        "decided = {path: one.by(decisions[one.id]) for path, one in prepared.held.items() if one.id in decisions}",
        "decided = dict[TablePath, Any]()",
        "log_growth 6",
    ),
    # ---- how far the log is confirmed
    runtime(
        "a log is confirmed past a table that waits",
        BUILDER,
        "return kept_log(node.source, split, durable, self._held).confirmed",
        "return durable",
        "unit_builder 6, I40",
    ),
    runtime(
        "a log is confirmed up to the last table that waits",
        KEPT_LOG,
        "behind[max(kept)[1]]",
        "behind[min(kept)[1]]",
        "target_alteration 5, I40",
    ),
    runtime(
        "a log is confirmed up to the newest record",
        DISCOVERY,
        "self._confirm(self._stood[min(usable, default=max(self._stood))])",
        "self._confirm(self._stood[max(self._stood)])",
        "split_discovery 3, I40",
    ),
    runtime(
        "a log is confirmed up to where no record is yet",
        DISCOVERY,
        "found |= run.positions(record.snapshots[subtask])",
        "found |= run.positions(replace(record.snapshots[subtask], state=run.participant.units.state))",
        "split_discovery 3, I40",
    ),
)
