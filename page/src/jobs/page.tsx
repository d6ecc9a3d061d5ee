// The list of runs, with the stored job files above it.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { LiveRuns, QueueList, RunList, RunRow } from "../api/shapes";
import { newest, round } from "../api/stream";
import { Choice } from "../parts/choice";
import { movedBy } from "../parts/windows";
import { Pages } from "../parts/pages";
import { Ago, Name, SegmentBar, StateMark } from "../parts/marks";
import { Empty, Shown } from "../parts/views";
import { type Answer, useAnswer, useNow } from "../state/asking";
import { now } from "../state/clock";
import { go, linkTo, query, setQuery } from "../state/location";
import { brief, count, counted, duration } from "../text/format";
import { sameCounts, standing, tally } from "../text/sentences";
import { lookOf, RUN_ORDER } from "../text/states";
import { RunActs } from "../job/acts";
import { ProgressLine, type Progress } from "../parts/acts";
import { FilterField } from "../parts/filter";
import { Definitions } from "./definitions";
import { DemoStart } from "./demo_start";

const SORTS: [string, string][] = [
  ["started", "newest"],
  ["state", "state"],
  ["name", "name"],
  ["rows", "rows"],
  ["duration", "duration"],
];
const PAGE = 50;

export function JobsPage() {
  const asked = query.value;
  const [states, text, sort, after] = [asked.getAll("state"), asked.get("q") ?? "", asked.get("sort") ?? "started", asked.get("after") ?? ""];
  const live = newest.value.runs as LiveRuns | undefined;
  const list = new URLSearchParams({ sort, limit: String(PAGE) });
  for (const state of states) list.append("state", state.toLowerCase());
  if (text) list.set("q", text);
  if (after) list.set("after", after);
  const turn = useChanges(live);
  const found = useAnswer<RunList>(`runs?${list}`, turn, true);
  useAgreement(live, found);
  const counts = live?.states ?? found.data?.states ?? {};
  const filtered = states.length > 0 || text !== "";
  const none = found.data !== null && found.data.total === 0 && !filtered;
  useEffect(() => {
    document.title = "Jobs · SeaTunnel";
  }, []);
  return (
    <>
      <div class="title-row">
        <h1>Jobs</h1>
        <p class="lead">{summary(counts)}</p>
        {none ? null : <FilterField text={text} hint="Filter by id, name or file" label="filter runs by id, name or file" pause={200} />}
      </div>
      {none ? <NoRuns /> : <Definitions />}
      {none ? null : (
        <section class="card" aria-label="runs">
          <div class="card-head">
            <h2>Runs</h2>
            <StateChips counts={counts} chosen={states} />
            <label class="sort">
              order{" "}
              <Choice value={sort} of={SORTS} chosen={(value) => setQuery({ sort: value === "started" ? "" : value, after: "" }, "push")} />
            </label>
          </div>
          <Shown of={found} rows={8}>
            {(data) => (data.runs.length === 0 ? <NoMatch /> : <RunTable list={data} live={live} />)}
          </Shown>
          {found.data ? <Pages list={found.data} cursor="after" noun="run" /> : null}
        </section>
      )}
    </>
  );
}

/** A number that grows with each message but the first, which comes with the first list and is no change. */
function useChanges(live: LiveRuns | undefined): number {
  const [turn, setTurn] = useState(0);
  const seen = useRef<LiveRuns | undefined>(undefined);
  useEffect(() => {
    if (live && seen.current && live !== seen.current) setTurn((before) => before + 1);
    seen.current = live;
  }, [live]);
  return turn;
}

/** Ask again, once for each connection, if the list is older than the first message of the stream. */
function useAgreement(live: LiveRuns | undefined, list: Answer<RunList>): void {
  const compared = useRef(-1);
  const turn = round.value;
  useEffect(() => {
    if (!live || !list.data || compared.current === turn) return;
    compared.current = turn;
    if (!sameCounts(live.states, list.data.states)) list.again();
  }, [live, list.data, turn]);
}

/** The first line: is it well. */
function summary(counts: Partial<Record<string, number>>): string {
  const running = counts.RUNNING ?? 0;
  const bad = ["FAILED", "ROWS_FAILED_AGAIN", "SOME_TABLES_FAILED", "KILLED", "STALLED", "UNREADABLE"].reduce((sum, state) => sum + (counts[state] ?? 0), 0);
  const first = running === 0 ? "Nothing is running." : `${counted(running, "run")} at work.`;
  return `${first} ${bad === 0 ? "No run needs attention." : `${counted(bad, "run")} ${bad === 1 ? "needs" : "need"} attention.`}`;
}

function StateChips({ counts, chosen }: { counts: Partial<Record<string, number>>; chosen: string[] }) {
  const present = [...RUN_ORDER, ...Object.keys(counts).filter((one) => !RUN_ORDER.includes(one))].filter((state) => (counts[state] ?? 0) > 0 || chosen.includes(state));
  const toggle = (state: string) => {
    const address = new URL(location.href);
    const kept = chosen.includes(state) ? chosen.filter((one) => one !== state) : [...chosen, state];
    address.searchParams.delete("state");
    address.searchParams.delete("after");
    for (const one of kept) address.searchParams.append("state", one);
    go(address.href);
  };
  return (
    <div class="chips" role="group" aria-label="only in these states">
      {present.map((state) => (
        <button key={state} type="button" class="chip" aria-pressed={chosen.includes(state)} onClick={() => toggle(state)}>
          <StateMark state={state} /> <span class="num">{count(counts[state] ?? 0)}</span>
        </button>
      ))}
    </div>
  );
}

function RunTable({ list, live }: { list: RunList; live: LiveRuns | undefined }) {
  const [row, rowNow, setRow] = useNow(-1);
  const [progress, setProgress] = useState<Progress>({ is: "ready" });
  const fresh = useMemo(() => new Map(live?.newest.map((one) => [one.job_id, one])), [live]);
  const runs = list.runs.map((one) => {
    const newer = fresh.get(one.job_id);
    return newer ? { ...one, state: newer.state, rows_read: newer.rows_read } : one;
  });
  const keys = (event: KeyboardEvent) => {
    if (event.target !== event.currentTarget) return;
    const next = movedBy(event.key, rowNow(), runs.length, 10);
    if (next !== null) {
      setRow(next);
      event.preventDefault();
      document.getElementById(`run-${next}`)?.scrollIntoView({ block: "nearest" });
    } else if (event.key === "Enter") {
      const chosen = runs[rowNow()];
      if (chosen) go(linkTo(chosen.job_id));
    }
  };
  return (
    <>
      <ProgressLine progress={progress} close={() => setProgress({ is: "ready" })} />
      <div class="scroll" data-rows tabIndex={0} role="group" aria-label="runs; j and k move, Enter opens" onKeyDown={keys}>
        <table class="rows runs">
          <thead>
            <tr>
              <th scope="col">State</th>
              <th scope="col">Job</th>
              <th scope="col">Tables</th>
              <th scope="col" class="right">Rows read</th>
              <th scope="col" class="right">Took</th>
              <th scope="col">Started</th>
              <th scope="col">Next step</th>
              <th scope="col"><span class="unseen">Acts</span></th>
            </tr>
          </thead>
          <tbody>
            {runs.map((run, at) => (
              <RunLine key={run.job_id} run={run} at={at} chosen={at === row} choose={() => setRow(at)} report={setProgress} />
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

interface LineProps {
  run: RunRow;
  at: number;
  chosen: boolean;
  choose: () => void;
  report: (progress: Progress) => void;
}

// Parts of their own: they are drawn again each second, and their line is not.

function Took({ run }: { run: RunRow }) {
  const alive = run.state === "RUNNING" || run.state === "STALLED";
  return <>{duration(alive ? now.value - run.started : run.seconds)}</>;
}

function Next({ run }: { run: RunRow }) {
  return <>{standing(run, now.value).next || <span class="faint">–</span>}</>;
}

function RunLine({ run, at, chosen, choose, report }: LineProps) {
  const { all, bad } = tally(run.tables);
  return (
    <tr id={`run-${at}`} class={chosen ? "chosen" : undefined} onClick={choose}>
      <td>
        <StateMark state={run.state} />
      </td>
      <td class="job-cell">
        <a href={linkTo(run.job_id)}>
          <Name text={run.job_name || run.job_id} most={44} />
        </a>
        {run.job_name && run.job_name !== run.job_id ? (
          <span class="sub mono">
            <Name text={run.job_id} most={44} />
          </span>
        ) : null}
      </td>
      <td class="tables-cell">
        <SegmentBar tables={run.tables} />
        {all > 1 ? <span class="sub num">{bad > 0 ? `${count(bad)} of ${count(all)} ${run.tables?.ISOLATED ? "isolated" : "failed"}` : counted(all, "table")}</span> : null}
      </td>
      <td class="right num" title={count(run.rows_read)}>{brief(run.rows_read)}</td>
      <td class="right num">
        <Took run={run} />
      </td>
      <td>{run.started ? <Ago at={run.started} /> : <span class="faint">–</span>}</td>
      <td class="next-cell">{run.fault ? <Name text={run.fault} most={80} /> : <Next run={run} />}</td>
      <td class="acts-cell">
        <RunActs run={run.job_id} state={run.state} report={report} compact />
      </td>
    </tr>
  );
}

function NoMatch() {
  return (
    <Empty title="No run matches the filter.">
      <button type="button" onClick={() => go(linkTo(), "push")}>
        Show all runs
      </button>
    </Empty>
  );
}

/** A home without a run: what would stand here, and the acts that make it so. Starts that wait are named. */
function NoRuns() {
  const queue = useAnswer<QueueList>("queue", newest.value.runs);
  const waiting = queue.data?.queue ?? [];
  return (
    <>
      {waiting.length > 0 ? (
        <p class="note" role="status">
          {counted(waiting.length, "start")} {waiting.length === 1 ? "waits" : "wait"}: {waiting[0]?.waits_for ?? lookOf("WAITING").word}
        </p>
      ) : null}
      <div class="hero">
        <h2>No job has run in this home yet.</h2>
        <p>Runs appear here with their states, tables and rows, also those that are started on the command line.</p>
        <DemoStart />
        <p class="faint">
          Or start a job file of your own: <code>seatunnel run job.conf</code>
        </p>
      </div>
      <Definitions />
    </>
  );
}
