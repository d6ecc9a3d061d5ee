// The acts on a run that fit its state.

import type { RunState } from "../api/shapes";
import { ActButton, mayDo, type Progress } from "../parts/acts";
import { go, linkTo } from "../state/location";

interface Props {
  run: string;
  state: RunState;
  report: (progress: Progress) => void;
  compact?: boolean;
}

/** States of a run that a next driver can take up. */
export const ENDED: RunState[] = ["FAILED", "ROWS_FAILED_AGAIN", "SOME_TABLES_FAILED", "STOPPED", "KILLED", "NOT ENDED"];

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
  const allowed = mayDo("operate");
  return (
    <span class="acts">
      <button type="button" class={`act ${compact ? "plain" : "main"}`} disabled={!allowed} title={allowed ? "Show the changes that the next driver would make, then start it." : "This needs the role operate."} onClick={() => go(linkTo(run, "state", { ask: "restore" }))}>
        Restore…
      </button>
    </span>
  );
}
