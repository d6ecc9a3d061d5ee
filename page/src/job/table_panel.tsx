// The panel of one table: its state, its targets, its failures and checkpoints.

import { useEffect, useRef } from "preact/hooks";
import type { TableDetail } from "../api/shapes";
import { Fact, Name, StateMark, When } from "../parts/marks";
import { Shown } from "../parts/views";
import { useAnswer } from "../state/asking";
import { linkTo, setQuery } from "../state/location";
import { bytes, count, duration, plainName } from "../text/format";

const close = () => {
  setQuery({ table: "" });
  document.querySelector<HTMLElement>("[data-rows]")?.focus();
};

export function TablePanel({ run, name, turn }: { run: string; name: string; turn: number }) {
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
        {(table) => <Detail run={run} table={table} />}
      </Shown>
    </aside>
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
