// The first line of a page: is it well, since when, and the next step. Pure.

import type { Counts, RunRow } from "../api/shapes";
import { age, count, counted, duration } from "./format";

export interface Standing {
  /** Is it well, since when. */
  is: string;
  /** The next step of a person; empty: none. */
  next: string;
}

/** The number of tables, and those in a bad state. */
export function tally(tables: Counts | null): { all: number; bad: number; done: number } {
  const found = tables ?? {};
  const all = Object.values(found).reduce<number>((sum, one) => sum + (one ?? 0), 0);
  return { all, bad: (found.FAILED ?? 0) + (found.ISOLATED ?? 0), done: found.DONE ?? 0 };
}

/** Whether two counts by state are equal; a state without runs may be missing. */
export const sameCounts = (one: Counts, other: Counts): boolean =>
  [...Object.keys(one), ...Object.keys(other)].every((state) => (one[state] ?? 0) === (other[state] ?? 0));

/** How a run stands at a time, in seconds since 1970. */
export function standing(run: RunRow, now: number): Standing {
  const { all, bad, done } = tally(run.tables);
  const ended = run.seconds == null ? null : run.started + run.seconds;
  const ago = ended === null ? "" : ` ${age(now - ended)} ago`;
  const ofTables = all === 0 ? "" : `${count(bad)} of ${counted(all, "table")}`;
  switch (run.state) {
    case "RUNNING":
      return running(run, now, all, bad, done);
    case "STALLED":
      return { is: `The driver is alive, and has written no counters for 30 s or more.`, next: "Look at the log; ask the run to explain itself" };
    case "SUCCESS":
      return { is: `Succeeded${ago}, after ${duration(run.seconds)}. ${all === 1 ? "Its table is" : `All ${counted(all, "table")} are`} done.`, next: "" };
    case "SOME_TABLES_FAILED":
      return { is: `Ended${ago}: ${ofTables} failed. The others are complete.`, next: "Mend the causes, then restore: only these tables go on" };
    case "FAILED":
    case "ROWS_FAILED_AGAIN":
      return { is: `Failed${ago}${bad > 0 ? `: ${ofTables} failed` : ""}.`, next: "Mend the cause, then restore" };
    case "STOPPED":
      return { is: `Stopped${ago}. ${all > 0 ? `${count(done)} of ${counted(all, "table")} are done.` : ""}`.trim(), next: "Restore: it goes on from its newest checkpoint" };
    case "KILLED":
      return { is: `Killed: the driver ended without a receipt.`, next: "Restore: it goes on from its newest checkpoint" };
    case "NOT ENDED":
      return { is: "It has no receipt, and its driver may be on another machine.", next: "Look there, then restore" };
    case "UNKNOWN":
      return { is: `The storage of the home is away${run.last_seen ? `: the run was seen ${age(now - run.last_seen)} ago, and may be at work` : ""}.`, next: "Give the storage back: nothing is restarted until then" };
    case "DROPPED":
      return { is: "Its state was dropped.", next: "" };
    case "UNREADABLE":
      return { is: run.fault || "Its directory cannot be read.", next: "Mend or remove the directory" };
    default:
      return { is: "Its directory is not there any more.", next: "" };
  }
}

function running(run: RunRow, now: number, all: number, bad: number, done: number): Standing {
  const since = `Running for ${duration(now - run.started)}.`;
  if (bad > 0) return { is: `${since} ${count(bad)} of ${counted(all, "table")} failed or isolated; the others go on.`, next: "Look at the causes" };
  if (all === 0) return { is: `${since} No table has begun yet.`, next: "" };
  return { is: `${since} ${all === 1 ? "Its table is" : `${count(done)} of ${counted(all, "table")} ${done === 1 ? "is" : "are"}`} ${all === 1 && done === 0 ? "at work" : "done"}; none has failed.`, next: "" };
}
