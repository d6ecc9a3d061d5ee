// The overview of a run: one sentence, the graph, the totals, the newest failures and the worst tables.

import { useEffect, useRef, useState } from "preact/hooks";
import type { FailureList, LiveRun, RunHead, TableList, TableRow } from "../api/shapes";
import { GraphCard } from "../graph/card";
import { Fact, Name, SegmentBar, StateMark } from "../parts/marks";
import { Shown } from "../parts/views";
import { useAnswer } from "../state/asking";
import { now } from "../state/clock";
import { linkTo } from "../state/location";
import { age, bytes, count, duration, perSecond } from "../text/format";
import { standing, tally } from "../text/sentences";
import { SeriesCard, type Point } from "./series";

const WORST = 5;
const KEPT_POINTS = 900;
const EVERY_MS = 2000;

export function OverviewTab({ head, live }: { head: RunHead; live: LiveRun | undefined }) {
  const run = encodeURIComponent(head.job_id);
  const points = useRatePoints(live);
  const turn = useSlowly(live);
  return (
    <>
      <Sentence head={head} />
      <Totals head={head} live={live} />
      <div class="overview">
        <div class="column">
          <GraphCard run={head.job_id} head={head} turn={turn} />
          <FailuresCard run={run} id={head.job_id} turn={turn} />
        </div>
        <SeriesCard run={head.job_id} own={points} alive={head.state === "RUNNING"} />
        <TablesCard run={run} head={head} live={live} turn={turn} />
      </div>
    </>
  );
}

/** What the run does, and what to do next. A part of its own: it is drawn again each second, and the tab is not. */
function Sentence({ head }: { head: RunHead }) {
  const { is, next } = standing(head, now.value);
  return (
    <p class={`sentence tone-line-${tally(head.tables).bad > 0 || !["RUNNING", "SUCCESS"].includes(head.state) ? "warn" : "good"}`}>
      {is} {next ? <strong>{next}.</strong> : head.state === "RUNNING" || head.state === "SUCCESS" ? "There is nothing to do." : null}
    </p>
  );
}

function Totals({ head, live }: { head: RunHead; live: LiveRun | undefined }) {
  const totals = live?.live?.totals ?? head.receipt?.totals ?? head.counters?.totals;
  const alive = head.state === "RUNNING" || head.state === "STALLED";
  const rate = live?.live ? live.live.rows_per_second : (head.receipt?.this_run.rows_per_second ?? null);
  const silent = live?.live?.silent_seconds ?? 0;
  const checkpoints = head.counters?.checkpoints;
  return (
    <dl class={silent > 5 ? "facts stale" : "facts"}>
      <Fact label="rows read" value={count(totals?.rows_read)} />
      <Fact label="rows written" value={count(totals?.rows_written)} hint="rows that a checkpoint has committed" />
      <Fact label="rejected" value={count(totals?.rows_rejected)} />
      <Fact label="written" value={bytes(totals?.bytes_written)} />
      <Fact label={alive ? "rate" : "rate, whole run"} value={perSecond(rate)} />
      <Fact label={alive ? "running for" : "took"} value={duration(alive ? now.value - head.started : head.seconds)} />
      {checkpoints ? <Fact label="checkpoints" value={`${count(live?.live?.checkpoint ?? checkpoints.completed)}${checkpoints.failed ? `, ${count(checkpoints.failed)} given up` : ""}`} /> : null}
      {checkpoints ? <Fact label="restarts" value={count(checkpoints.restarts)} /> : null}
      {head.exit_code !== null ? <Fact label="exit code" value={String(head.exit_code)} /> : null}
      {silent > 5 ? <Fact label="age of these numbers" value={age(silent)} /> : null}
    </dl>
  );
}

/** Rows per second as this page has seen them. */
function useRatePoints(live: LiveRun | undefined): Point[] {
  const kept = useRef<Point[]>([]);
  const rate = live?.live?.rows_per_second;
  const rows = live?.live?.totals?.rows_read;
  const seen = useRef<number | undefined>(undefined);
  if (rate != null && rows !== seen.current) {
    seen.current = rows;
    kept.current = [...kept.current.slice(1 - KEPT_POINTS), [Date.now() / 1000, rate]];
  }
  return kept.current;
}

/** A number that grows while the run changes, at most every two seconds. The first message counts, too: the run may have
 * ended between the answers that were asked for at once. */
export function useSlowly(live: unknown): number {
  const [turn, setTurn] = useState(0);
  const last = useRef(performance.now());
  useEffect(() => {
    if (live === undefined) return;
    const rest = Math.max(0, EVERY_MS - (performance.now() - last.current));
    const timer = window.setTimeout(() => {
      last.current = performance.now();
      setTurn((before) => before + 1);
    }, rest);
    return () => window.clearTimeout(timer);
  }, [live]);
  return turn;
}

function FailuresCard({ run, id, turn }: { run: string; id: string; turn: number }) {
  const found = useAnswer<FailureList>(`runs/${run}/failures?limit=3`, turn);
  return (
    <section class="card" aria-label="newest failures">
      <div class="card-head">
        <h2>Newest failures</h2>
        {found.data?.total === 0 ? <p class="none">none is recorded</p> : null}
        {found.data && found.data.total > 0 ? <a href={linkTo(id, "failures")}>all {count(found.data.total)}</a> : null}
      </div>
      <Shown of={found} rows={2}>
        {(data) =>
          data.total === 0 ? null : (
            <ul class="short-failures">
              {[...data.failures].reverse().map((one, at) => (
                <li key={at}>
                  <span class="short-what">
                    <Name text={one.table || one.what} most={40} />
                  </span>
                  <span class="short-cause">
                    <Name text={one.cause} most={120} />
                  </span>
                </li>
              ))}
            </ul>
          )
        }
      </Shown>
    </section>
  );
}

/** A table with the newest numbers of the stream, which has at most a hundred tables. */
export function freshTable(table: TableRow, live: LiveRun | undefined): TableRow {
  const newer = table.key === table.table ? live?.live?.tables.find((one) => one.table === table.table) : undefined;
  return newer ? { ...table, ...newer } : table;
}

function TablesCard({ run, head, live, turn }: { run: string; head: RunHead; live: LiveRun | undefined; turn: number }) {
  const { all } = tally(head.tables);
  const found = useAnswer<TableList>(`runs/${run}/tables?sort=state&limit=${WORST}`, turn);
  return (
    <section class="card tables-card" aria-label="tables">
      <div class="card-head">
        <h2>{all <= WORST ? "Tables" : "Tables that need a look first"}</h2>
        {all > WORST ? <a href={linkTo(head.job_id, "tables", { sort: "state" })}>all {count(all)}</a> : null}
      </div>
      {all > 1 ? <SegmentBar tables={head.tables} wide /> : null}
      <Shown of={found} rows={3}>
        {(data) =>
          data.tables.length === 0 ? (
            <p class="none">No table has begun yet.</p>
          ) : (
            <div class="scroll" tabIndex={0} role="group" aria-label="tables">
              <table class="rows">
                <thead>
                  <tr>
                    <th scope="col">State</th>
                    <th scope="col">Table</th>
                    <th scope="col" class="right">Read</th>
                    <th scope="col" class="right">Written</th>
                    <th scope="col">Cause</th>
                  </tr>
                </thead>
                <tbody>
                  {data.tables.map((row) => freshTable(row, live)).map((one) => (
                    <tr key={one.key}>
                      <td>
                        <StateMark state={one.state} />
                      </td>
                      <td>
                        <a href={linkTo(head.job_id, "tables", { table: one.key })}>
                          <Name text={one.table} most={48} />
                        </a>
                      </td>
                      <td class="right num">{count(one.rows_read)}</td>
                      <td class="right num">{count(one.rows_written)}</td>
                      <td class="cause-cell">{one.cause ? <Name text={one.cause.message} most={90} /> : <span class="faint">–</span>}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )
        }
      </Shown>
    </section>
  );
}
