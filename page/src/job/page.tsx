// The page of one run: its head, its acts, and its tabs.

import { useEffect, useRef, useState } from "preact/hooks";
import type { LiveRun, RunHead } from "../api/shapes";
import { follow, newest } from "../api/stream";
import { ProgressLine, type Progress } from "../parts/acts";
import { lazily } from "../parts/lazily";
import { Name, StateMark } from "../parts/marks";
import { Failed, Loading } from "../parts/views";
import { useAnswer } from "../state/asking";
import { linkTo, TABS, type Tab } from "../state/location";
import { count } from "../text/format";
import { lookOf } from "../text/states";
import { RunActs } from "./acts";
import { BadRowsTab } from "./bad_rows";
import { CheckpointsTab } from "./checkpoints";
import { FailuresTab } from "./failures";
import { LogTab } from "./log";
import { OverviewTab } from "./overview";
import { NotYet } from "./not_yet";
import { PlanTab } from "./plan";
import { StateTab } from "./state";
import { TablesTab } from "./tables";

const WORDS: Record<Tab, string> = { overview: "Overview", tables: "Tables", checkpoints: "Checkpoints", failures: "Failures", state: "Savepoints", quarantine: "Bad rows", log: "Log", plan: "Plan as run", lineage: "Lineage" };
const AGAIN_MS = 1000;
const LineageTab = lazily(() => import("../later").then((one) => one.LineageTab));

/** A run with the newest numbers of the stream. */
export function merged(head: RunHead, live: LiveRun | undefined): RunHead {
  if (!live) return head;
  const totals = live.live?.totals;
  const counters = totals ? { ...(head.counters ?? {}), totals } : head.counters;
  return { ...head, state: live.state, exit_code: live.exit_code, tables: live.tables ?? head.tables, rows_read: live.rows_read ?? head.rows_read, counters };
}

export function JobPage({ run, tab }: { run: string; tab: Tab }) {
  const live = newest.value[`run:${run}`] as LiveRun | undefined;
  const id = encodeURIComponent(run);
  const [looks, setLooks] = useState(0);
  const found = useAnswer<RunHead>(`runs/${id}`, `${live?.state} ${looks}`);
  const [progress, setProgress] = useState<Progress>({ is: "ready" });
  const unknown = found.problem?.status === 404;
  const known = found.data !== null;
  useEffect(() => {
    // A stream about a run that is not there is refused.
    if (known) follow(["runs", `run:${run}`]);
    else if (unknown) follow(["runs"]);
  }, [known, unknown, run]);
  useEffect(() => {
    if (!unknown) return;
    const timer = window.setTimeout(() => setLooks((before) => before + 1), AGAIN_MS);
    return () => window.clearTimeout(timer);
  }, [unknown, looks]);
  useEffect(() => {
    document.title = `${found.data?.job_name || run} · SeaTunnel`;
  }, [found.data?.job_name, run]);
  const state = live?.state ?? found.data?.state;
  useEffect(() => {
    // A restore has no answer of a driver: the run that goes on is the answer.
    setProgress((before) => (before.is === "asked" && state === "RUNNING" ? { is: "done", what: "The run goes on." } : before));
  }, [state]);

  if (unknown) return <NotYet run={run} turn={looks} />;
  if (!found.data) return found.problem ? <Failed problem={found.problem} again={found.again} /> : found.slow ? <Loading rows={4} /> : null;
  const shown = merged(found.data, live);
  return (
    <>
      <div class="title-row job-title">
        <h1>
          <Name text={shown.job_name || run} most={70} />
        </h1>
        <StateMark state={shown.state} />
        <span class="mono faint id">
          <Name text={run} most={60} />
        </span>
        <RunActs run={run} state={shown.state} report={setProgress} />
      </div>
      <p class="unseen" role="status">
        {`State of the run: ${lookOf(shown.state).word}.`}
      </p>
      <ProgressLine progress={progress} close={() => setProgress({ is: "ready" })} />
      <Tabs run={run} tab={tab} head={shown} />
      <div role="tabpanel" id="panel" aria-labelledby={`tab-${tab}`} class={`panel panel-${tab}`}>
        {tab === "overview" ? <OverviewTab head={shown} live={live} /> : null}
        {tab === "tables" ? <TablesTab run={run} head={shown} live={live} /> : null}
        {tab === "checkpoints" ? <CheckpointsTab run={run} live={live} /> : null}
        {tab === "failures" ? <FailuresTab run={run} live={live} /> : null}
        {tab === "state" ? <StateTab head={shown} live={live} progress={progress} report={setProgress} /> : null}
        {tab === "quarantine" ? <BadRowsTab head={shown} report={setProgress} /> : null}
        {tab === "log" ? <LogTab run={run} state={shown.state} /> : null}
        {tab === "plan" ? <PlanTab run={run} /> : null}
        {tab === "lineage" ? <LineageTab run={run} state={shown.state} /> : null}
      </div>
    </>
  );
}

function Tabs({ run, tab, head }: { run: string; tab: Tab; head: RunHead }) {
  const tables = Object.values(head.tables ?? {}).reduce<number>((sum, one) => sum + (one ?? 0), 0);
  const keys = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    const all = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>("[role=tab]")];
    const next = all[(all.indexOf(document.activeElement as HTMLElement) + step + all.length) % all.length];
    next?.focus();
    next?.click();
  };
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // A narrow window shows a part of the tabs.
    place.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [tab]);
  return (
    <div ref={place} class="tabs" role="tablist" aria-label="parts of the job" onKeyDown={keys}>
      {TABS.map((one) => (
        <a key={one} id={`tab-${one}`} role="tab" href={linkTo(run, one)} aria-selected={one === tab} aria-controls={one === tab ? "panel" : undefined} tabIndex={one === tab ? 0 : -1}>
          {WORDS[one]}
          {one === "tables" && tables > 0 ? <span class="tab-count num">{count(tables)}</span> : null}
        </a>
      ))}
    </div>
  );
}
