// The bad rows of a run: counts and causes by table, the rows, and their delivery, which is announced first.

import { useEffect, useState } from "preact/hooks";
import type { RunHead, RunList } from "../api/shapes";
import { newest } from "../api/stream";
import type { BadList, BadRow, BadRows, BadTable } from "../api/stored_shapes";
import type { Progress } from "../parts/acts";
import { Announcement } from "../parts/announcement";
import { Name, StateMark, When } from "../parts/marks";
import { Empty, Shown } from "../parts/views";
import { useAnswer, useCostlyAnswer } from "../state/asking";
import { linkTo, query, setQuery } from "../state/location";
import { namedIn } from "../text/errors";
import { count, counted, plainName } from "../text/format";

const FIRST = 50;
const MOST = 200;
const DELIVERS_MS = 5000;

interface Props {
  head: RunHead;
  report: (progress: Progress) => void;
}

export function BadRowsTab({ head, report }: Props) {
  const run = encodeURIComponent(head.job_id);
  const deliveries = useAnswer<RunList>(`runs?q=${encodeURIComponent(`${head.job_id}.replay`)}&limit=1`, newest.value.runs, true);
  const delivery = deliveries.data?.runs[0];
  const [looks, setLooks] = useState(0);
  const found = useCostlyAnswer<BadList>(`runs/${run}/quarantine`, `${looks} ${head.state} ${delivery?.job_id} ${delivery?.state}`);
  const alive = found.data?.delivery.alive ?? false;
  useEffect(() => {
    if (!alive) return;
    const timer = window.setTimeout(() => setLooks((before) => before + 1), DELIVERS_MS);
    return () => window.clearTimeout(timer);
  }, [alive, looks]);
  const [ask, table] = [query.value.get("ask"), query.value.get("of") ?? ""];
  const begun = () => {
    report({ is: "done", what: "The delivery has begun. It is a run of its own." });
    setQuery({ ask: "" }, "push");
    setLooks((before) => before + 1);
  };
  return (
    <>
      {ask === "deliver" ? (
        <Announcement key={table} title="A delivery would do this:" path={`runs/${run}/quarantine/replay`} body={table ? { table } : {}} label="Deliver" asked="asked to deliver bad rows" none="Nothing: no row waits that can be delivered." idle report={report} then={begun} close={() => setQuery({ ask: "" }, "push")} />
      ) : null}
      <section class="card" aria-label="bad rows">
        <Shown of={found} rows={3}>
          {(data) => (data.tables.length === 0 ? <None rejected={head.receipt?.totals.rows_rejected ?? 0} /> : <Tables list={data} chosen={table} />)}
        </Shown>
        {delivery ? (
          <p class="note">
            Newest delivery:{" "}
            <a href={linkTo(delivery.job_id)}>
              <Name text={delivery.job_id} most={80} />
            </a>{" "}
            <StateMark state={delivery.state} />
          </p>
        ) : null}
        {found.data && !alive && found.data.waiting > 0 && found.data.delivery.output.length > 0 ? (
          <details>
            <summary>output of the newest delivery</summary>
            <pre class="output mono">{found.data.delivery.output.map(plainName).join("\n")}</pre>
          </details>
        ) : null}
      </section>
      {found.data && found.data.waiting > 0 ? <Rows run={run} table={table} waiting={found.data.waiting} /> : null}
    </>
  );
}

function None({ rejected }: { rejected: number }) {
  return (
    <Empty title="No bad row of this run is kept.">
      {rejected > 0 ? <p>{counted(rejected, "row")} {rejected === 1 ? "was" : "were"} rejected, and removed since.</p> : <p>Rows that cannot be decoded, computed or written are set aside here, if the job allows some: error.max-rows.</p>}
    </Empty>
  );
}

function Tables({ list, chosen }: { list: BadList; chosen: string }) {
  return (
    <>
      <div class="card-head">
        <h2>Bad rows</h2>
        <span class="faint num">{list.waiting > 0 ? `${counted(list.waiting, "row")} ${list.waiting === 1 ? "waits" : "wait"}` : "all were delivered"}</span>
        {list.waiting > 0 ? (
          <span class="acts">
            <button type="button" class="main" disabled={list.delivery.alive} onClick={() => setQuery({ ask: "deliver", of: "" }, "push")}>
              {list.delivery.alive ? "Delivering…" : "Deliver all…"}
            </button>
          </span>
        ) : null}
      </div>
      <div class="scroll" tabIndex={0} role="group" aria-label="tables with bad rows">
        <table class="rows">
          <thead>
            <tr>
              <th scope="col">Table</th>
              <th scope="col" class="right">Waiting</th>
              <th scope="col" class="right" title="no reader could decode them, so they stay">Not decoded</th>
              <th scope="col" class="right">Delivered</th>
              <th scope="col">Causes</th>
              <th scope="col"><span class="unseen">Acts</span></th>
            </tr>
          </thead>
          <tbody>
            {list.tables.map((one) => (
              <TableLine key={one.table} one={one} chosen={one.table === chosen} alive={list.delivery.alive} />
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

function TableLine({ one, chosen, alive }: { one: BadTable; chosen: boolean; alive: boolean }) {
  return (
    <tr class={chosen ? "chosen" : undefined}>
      <td>
        <Name text={one.table} most={60} />
      </td>
      <td class="right num">{count(one.waiting)}</td>
      <td class="right num">{one.undecoded ? count(one.undecoded) : "–"}</td>
      <td class="right num">{count(one.replayed)}</td>
      <td class="cause-cell">
        {one.reasons.map((reason, at) => (
          <div key={at}>
            <span class="num">{count(reason.rows)} ×</span> <Name text={reason.step} most={40} />: <bdi>{plainName(reason.error)}</bdi>
          </div>
        ))}
      </td>
      <td class="acts-cell">
        {one.waiting > 0 ? (
          <>
            <button type="button" aria-pressed={chosen} onClick={() => setQuery({ of: chosen ? "" : one.table, ask: "" }, "push")}>
              Only its rows
            </button>{" "}
            <button type="button" disabled={alive || one.waiting === one.undecoded} onClick={() => setQuery({ ask: "deliver", of: one.table }, "push")}>
              Deliver…
            </button>
          </>
        ) : null}
      </td>
    </tr>
  );
}

function Rows({ run, table, waiting }: { run: string; table: string; waiting: number }) {
  const [limit, setLimit] = useState(FIRST);
  const asked = new URLSearchParams({ limit: String(limit), ...(table ? { table } : {}) });
  const found = useCostlyAnswer<BadRows>(`runs/${run}/quarantine/rows?${asked}`, waiting);
  return (
    <section class="card" aria-label="rows">
      <div class="card-head">
        <h2>{table ? <>Rows of <Name text={table} most={60} /></> : "Rows"}</h2>
        {found.data ? <span class="faint num">{`the oldest ${count(found.data.rows.length)}`}</span> : null}
        {found.data?.masked ? <span class="tag" title="A token with the right data shows them.">values are masked</span> : null}
        {found.data && found.data.rows.length === limit && limit < MOST ? (
          <button type="button" class="quiet" onClick={() => setLimit(MOST)}>
            up to {count(MOST)}
          </button>
        ) : null}
      </div>
      <Shown of={found} rows={4}>
        {(data) => (
          <div class="scroll tall" data-rows tabIndex={0} role="group" aria-label="bad rows">
            <table class="rows bad-rows">
              <thead>
                <tr>
                  <th scope="col">{table ? "Step" : "Table, step"}</th>
                  <th scope="col">Error</th>
                  <th scope="col">Values</th>
                  <th scope="col">Read</th>
                </tr>
              </thead>
              <tbody>
                {data.rows.map((one, at) => (
                  <RowLine key={at} one={one} named={!table} />
                ))}
              </tbody>
            </table>
          </div>
        )}
      </Shown>
    </section>
  );
}

function RowLine({ one, named }: { one: BadRow; named: boolean }) {
  const faulty = namedIn(one.error, Object.keys(one.values));
  return (
    <tr>
      <td>
        {named ? <Name text={one.table} most={40} /> : null}
        <span class={named ? "sub" : undefined}>
          <Name text={one.step} most={40} />
        </span>
      </td>
      <td class="cause-cell">
        <bdi>{plainName(one.error)}</bdi>
      </td>
      <td class="values mono">
        {Object.entries(one.values).map(([name, value]) => (
          <div key={name}>
            <span class={faulty.includes(name) ? "tone-bad" : "faint"}>
              <Name text={name} most={40} />
            </span>{" "}
            <Name text={value === null ? "null" : typeof value === "string" ? value : JSON.stringify(value)} most={200} />
          </div>
        ))}
      </td>
      <td>
        <When at={Date.parse(one.at) / 1000} />
        <span class="sub">
          row {count(one.row + 1)}, split <Name text={one.split || "–"} most={30} />, checkpoint {one.checkpoint}
        </span>
      </td>
    </tr>
  );
}
