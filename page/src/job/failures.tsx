// The failures of a run: each with its cause, what followed, and the remedy; equal causes are counted.

import type { Failure, FailureList, LiveRun } from "../api/shapes";
import { Name, When } from "../parts/marks";
import { Empty, Shown } from "../parts/views";
import { useAnswer } from "../state/asking";
import { linkTo } from "../state/location";
import { count, counted, plainName } from "../text/format";
import { useSlowly } from "./overview";

const ASKED = 200;
const GROUPS = 8;

/** Failures by cause, the most frequent first. Pure. */
export function groupsOf(failures: readonly Failure[]): { cause: string; number: number; tables: number }[] {
  const found = new Map<string, Failure[]>();
  for (const one of failures) found.set(one.cause, [...(found.get(one.cause) ?? []), one]);
  return [...found]
    .map(([cause, some]) => ({ cause, number: some.length, tables: new Set(some.map((one) => one.table)).size }))
    .sort((a, b) => b.number - a.number);
}

export function FailuresTab({ run, live }: { run: string; live: LiveRun | undefined }) {
  const turn = useSlowly(live);
  const found = useAnswer<FailureList>(`runs/${encodeURIComponent(run)}/failures?limit=${ASKED}`, turn);
  return (
    <section class="card" aria-label="failures">
      <Shown of={found}>
        {(data) => (data.total === 0 ? <Empty title="No failure of this run is recorded." /> : <Failures run={run} list={data} />)}
      </Shown>
    </section>
  );
}

function Failures({ run, list }: { run: string; list: FailureList }) {
  const groups = groupsOf(list.failures);
  return (
    <>
      <div class="card-head">
        <h2>Failures</h2>
        <span class="faint num">
          {count(list.total)} of {counted(list.tables, "table")}
          {list.failures.length < list.total ? `; the newest ${count(list.failures.length)} are shown` : ""}
        </span>
      </div>
      {groups.length < list.failures.length ? (
        <ul class="groups">
          {groups.slice(0, GROUPS).map((one) => (
            <li key={one.cause}>
              <span class="group-number num">{count(one.number)} ×</span>
              <span>
                <Name text={one.cause || "no cause is known"} most={160} /> <span class="faint">{counted(one.tables, "table")}</span>
              </span>
            </li>
          ))}
        </ul>
      ) : null}
      <ol class="timeline" data-rows tabIndex={0} aria-label="failures, newest first">
        {[...list.failures].reverse().map((one, at) => (
          <li key={at}>
            <div class="timeline-head">
              {one.at ? <When at={Date.parse(one.at) / 1000} /> : <span class="faint">at its end</span>}
              {one.table ? (
                <a href={linkTo(run, "tables", { table: one.table })}>
                  <Name text={one.table} most={60} />
                </a>
              ) : (
                <Name text={one.what} most={60} />
              )}
              {one.driver === null ? null : <span class="faint">driver {one.driver}</span>}
              {one.attempt ? <span class="faint">attempt {one.attempt}</span> : null}
            </div>
            <p class="cause">{plainName(one.cause) || "no cause is known"}</p>
            {one.follows ? (
              <p>
                <span class="label">then</span> {plainName(one.follows)}
                {one.checkpoint === null ? "" : `, from checkpoint ${one.checkpoint}`}
              </p>
            ) : null}
            {one.remedy ? (
              <p>
                <span class="label">remedy</span> {plainName(one.remedy)}
              </p>
            ) : null}
          </li>
        ))}
      </ol>
    </>
  );
}
