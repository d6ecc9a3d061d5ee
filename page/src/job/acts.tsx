// The acts on a run that fit its state.

import type { RunState } from "../api/shapes";
import { ActButton, type Progress } from "../parts/acts";

interface Props {
  run: string;
  state: RunState;
  report: (progress: Progress) => void;
  compact?: boolean;
}

const ENDED: RunState[] = ["FAILED", "ROWS_FAILED_AGAIN", "SOME_TABLES_FAILED", "STOPPED", "KILLED", "NOT ENDED"];

export function RunActs({ run, state, report, compact = false }: Props) {
  const path = `runs/${encodeURIComponent(run)}`;
  if (state === "RUNNING" || state === "STALLED") {
    return (
      <span class="acts">
        {compact ? null : <ActButton label="Savepoint" path={`${path}/savepoint`} asked="asked for a savepoint" report={report} hint="Save the state of the job now; it goes on." />}
        <ActButton label="Stop" path={`${path}/stop`} asked="asked to stop after a savepoint" report={report} hint="End the job after a savepoint." />
        {compact ? null : <ActButton label="Cancel" look="danger" confirm="Cancel without a savepoint?" path={`${path}/cancel`} asked="asked to end at once" report={report} hint="End the job at once, without a savepoint." />}
      </span>
    );
  }
  if (!ENDED.includes(state)) return null;
  return (
    <span class="acts">
      <ActButton label="Restore" look={compact ? "plain" : "main"} path={`${path}/restore`} asked="asked to restore from the newest checkpoint" report={report} hint="Start the next driver of this run, from its newest checkpoint." />
    </span>
  );
}
