// The panel of one table: its state, its targets, its failures and checkpoints.

import { useEffect, useRef } from "preact/hooks";
import type { Standing, TableDetail, TableState } from "../api/shapes";
import { Fact, Name, StateMark, When } from "../parts/marks";
import { Shown } from "../parts/views";
import { useAnswer, useCostlyAnswer } from "../state/asking";
import { linkTo, setQuery } from "../state/location";
import { age, bytes, count, duration, plainName } from "../text/format";

const close = () => {
  setQuery({ table: "" });
  document.querySelector<HTMLElement>("[data-rows]")?.focus();
};

const ENDED: TableState[] = ["DONE", "FAILED", "ISOLATED", "STOPPED"];

export function TablePanel({ run, name, turn, alive }: { run: string; name: string; turn: number; alive: boolean }) {
  // Slashes of a name are encoded too: a browser would resolve `..` between them.
  const path = `runs/${encodeURIComponent(run)}/tables/${encodeURIComponent(name)}`;
  const found = useAnswer<TableDetail>(path, turn);
  const place = useRef<HTMLElement>(null);
  useEffect(() => place.current?.focus({ preventScroll: true }), [name]);
  return (
    <aside ref={place} class="card side" aria-label="table" tabIndex={-1} onKeyDown={(event) => { if (event.key === "Escape") close(); }}>
      <div class="card-head">
        <h2 class="whole">
          <bdi>{plainName(name)}</bdi>
        </h2>
        <button type="button" class="quiet" onClick={close} aria-label="close the table">
          ×
        </button>
      </div>
      <Shown of={found} rows={5}>
        {(table) => (
          <>
            {alive && !ENDED.includes(table.state) ? <Waits run={run} table={table.table} /> : null}
            <Detail run={run} table={table} />
          </>
        )}
      </Shown>
    </aside>
  );
}

/** The reason why a table at work is not further, which its driver is asked for. */
function Waits({ run, table }: { run: string; table: string }) {
  const path = `runs/${encodeURIComponent(run)}/explain?table=${encodeURIComponent(table)}`;
  const found = useCostlyAnswer<{ tables: Standing[] }>(path);
  return (
    <section class="waits" aria-label="waits">
      <div class="card-head">
        <h3>Why it is not further</h3>
        <button type="button" class="quiet" onClick={found.again}>
          Ask again
        </button>
      </div>
      <Shown of={found} rows={2}>
        {({ tables }) => {
          const [one] = tables;
          if (!one) return <p class="none">Its driver names nothing: it has just ended.</p>;
          const lines = [...one.blocked, ...one.waits];
          return (
            <>
              <p>{one.moved === null ? "No row has moved yet." : `The last row moved ${age(one.moved)} ago.`}</p>
              {lines.length === 0 ? <p class="none">{one.busy ? "It waits for nothing: it is at work." : "It names nothing."}</p> : null}
              <ul class="plain-list">
                {lines.map((line, at) => (
                  <li key={at}>
                    <bdi>{plainName(line)}</bdi>
                  </li>
                ))}
              </ul>
            </>
          );
        }}
      </Shown>
    </section>
  );
}

function Detail({ run, table }: { run: string; table: TableDetail }) {
  return (
    <>
      <p>
        <StateMark state={table.state} />
      </p>
      {table.cause ? (
        <div class="failed">
          <p>
            <strong>{plainName(table.cause.message)}</strong>
          </p>
          {table.cause.remedy ? <p>{plainName(table.cause.remedy)}</p> : null}
          <p class="faint mono">{table.cause.error_type}</p>
        </div>
      ) : null}
      <dl class="facts small">
        <Fact label="read" value={count(table.rows_read)} />
        <Fact label="written" value={count(table.rows_written)} />
        <Fact label="filtered" value={count(table.rows_filtered)} />
        <Fact label="rejected" value={count(table.rows_rejected)} />
        <Fact label="size" value={bytes(table.bytes_written)} hint="bytes written" />
        <Fact label="time" value={duration(table.seconds)} />
        <Fact label="retries" value={count(table.attempts)} />
      </dl>
      {table.rows_rejected ? (
        <p>
          <a href={linkTo(run, "quarantine", { of: table.table })}>look at the rejected rows</a>
        </p>
      ) : null}
      {table.targets && table.targets.length > 0 ? (
        <section>
          <h3>Targets</h3>
          <ul class="plain-list">
            {table.targets.map((one, at) => (
              <li key={at}>
                <StateMark state={one.state} /> <Name text={one.target} most={80} /> <span class="faint num">{count(one.rows_written)} rows</span>
                {one.cause ? <p class="cause">{plainName(one.cause.message)}</p> : null}
              </li>
            ))}
          </ul>
        </section>
      ) : null}
      {table.failures.length > 0 ? (
        <section>
          <h3>Failures</h3>
          <ul class="plain-list">
            {[...table.failures].reverse().map((one, at) => (
              <li key={at}>
                {one.at ? <When at={Date.parse(one.at) / 1000} /> : null} {plainName(one.cause)} <span class="faint">{plainName(one.follows)}</span>
              </li>
            ))}
          </ul>
        </section>
      ) : null}
      {table.checkpoints.length > 0 ? (
        <section>
          <h3>Newest checkpoints</h3>
          <ul class="plain-list num">
            {[...table.checkpoints].reverse().slice(0, 8).map((one) => (
              <li key={`${one.driver} ${one.checkpoint}`}>
                #{one.checkpoint} {one.kind}, {duration(one.seconds)}, {count(one.rows)} rows, {one.completed ? "completed" : plainName(one.reason)}
              </li>
            ))}
          </ul>
        </section>
      ) : null}
    </>
  );
}
