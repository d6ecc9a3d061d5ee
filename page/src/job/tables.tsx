// All tables of a run: a list of which only a window is loaded and drawn, and a panel for one table.

import { useEffect, useRef, useState } from "preact/hooks";
import type { LiveRun, RunHead, TableRow } from "../api/shapes";
import { round } from "../api/stream";
import { Choice } from "../parts/choice";
import { FilterField } from "../parts/filter";
import { Name, StateMark } from "../parts/marks";
import { Empty, Failed } from "../parts/views";
import { useHeight } from "../state/height";
import { useNow } from "../state/asking";
import { movedBy, scrolledTo, visible } from "../parts/windows";
import { query, setQuery } from "../state/location";
import { usePrinting } from "../state/printing";
import { count, counted, duration } from "../text/format";
import { TABLE_ORDER, toggled } from "../text/states";
import { freshTable, useSlowly } from "./overview";
import { TablePanel } from "./table_panel";
import { allRows, useTableWindows } from "./table_windows";

const ROW = 28;
const SORTS: [string, string][] = [["name", "name"], ["state", "state"], ["rows", "rows"], ["seconds", "time"], ["attempts", "retries"]];

export function TablesTab({ run, head, live }: { run: string; head: RunHead; live: LiveRun | undefined }) {
  const asked = query.value;
  const [text, sort, key] = [asked.get("q") ?? "", asked.get("sort") ?? "name", asked.get("table") ?? ""];
  const turn = useSlowly(live) + round.value;
  const list = useTableWindows(run, text, sort, turn);
  const counts = live?.live?.states ?? head.tables ?? {};
  return (
    <div class={key ? "split open" : "split"}>
      <section class="card tables" aria-label="tables">
        <div class="card-head">
          <FilterField text={text} hint="Filter by name, or state:failed" label="filter tables by name, or state:failed" pause={120} />
          <div class="chips" role="group" aria-label="only in these states">
            {TABLE_ORDER.filter((state) => (counts[state] ?? 0) > 0).map((state) => (
              <button key={state} type="button" class="chip" aria-pressed={text.toLowerCase().includes(`state:${state.toLowerCase()}`)} onClick={() => setQuery({ q: toggled(text, state) })}>
                <StateMark state={state} /> <span class="num">{count(counts[state])}</span>
              </button>
            ))}
          </div>
          <label class="sort">
            order{" "}
            <Choice value={sort} of={SORTS} chosen={(value) => setQuery({ sort: value === "name" ? "" : value }, "push")} />
          </label>
        </div>
        {list.problem ? <Failed problem={list.problem} again={list.again} /> : null}
        {list.total === 0 && !list.problem ? <None text={text} /> : null}
        {list.total !== 0 ? <Rows key={`${text} ${sort}`} list={list} live={live} chosen={key} whole={() => allRows(run, text, sort)} /> : null}
        <p class="list-end faint num" role="status">
          {list.total === null ? "" : counted(list.total, "table")}
        </p>
      </section>
      {key ? <TablePanel run={run} name={key} turn={turn} alive={head.state === "RUNNING" || head.state === "STALLED"} /> : null}
    </div>
  );
}

function None({ text }: { text: string }) {
  if (!text) return <Empty title="No table has begun yet." />;
  return (
    <Empty title="No table matches the filter.">
      <button type="button" onClick={() => setQuery({ q: "" })}>
        Show all tables
      </button>
    </Empty>
  );
}

interface RowsProps {
  list: ReturnType<typeof useTableWindows>;
  live: LiveRun | undefined;
  chosen: string;
  /** All rows, for print. */
  whole: () => TableRow[];
}

function Rows({ list, live, chosen, whole }: RowsProps) {
  const [top, setTop] = useState(0);
  const [row, rowNow, setRow] = useNow(0);
  const place = useRef<HTMLDivElement>(null);
  const height = useHeight(place, 600);
  const total = list.total ?? 0;
  const view = visible(top, height, ROW, total);
  useEffect(() => list.need(view), [view.first, view.end, list.turn]);
  const printed = usePrinting(whole);
  const shown = printed ? { first: 0, end: printed.length } : view;
  const move = (event: KeyboardEvent) => {
    const box = place.current;
    if (!box) return;
    const next = movedBy(event.key, rowNow(), total, Math.floor(height / ROW) - 1);
    if (next !== null) {
      event.preventDefault();
      setRow(next);
      box.scrollTop = scrolledTo(next, box.scrollTop, box.clientHeight - ROW, ROW);
    } else if (event.key === "Enter") {
      const found = list.at(rowNow());
      if (found) setQuery({ table: found.key }, "push");
    } else if (event.key === "Escape") {
      setQuery({ table: "" });
    }
  };
  const lines = [];
  for (let at = shown.first; at < shown.end; at += 1) {
    const table = printed ? printed[at] : list.at(at);
    lines.push(<Line key={at} at={at} table={table && freshTable(table, live)} active={at === row} chosen={chosen} choose={() => setRow(at)} />);
  }
  return (
    <div ref={place} class="virtual" data-rows role="grid" tabIndex={0} aria-label="tables; j and k move, Enter opens" aria-rowcount={total + 1} aria-activedescendant={total > 0 ? `row-${row}` : undefined} onScroll={(event) => setTop(event.currentTarget.scrollTop)} onKeyDown={move}>
      <div class="line line-head" role="row" aria-rowindex={1}>
        {["State", "Table", "Read", "Written", "Rejected", "Time", "Retries", "Target", "Cause"].map((word, at) => (
          <span key={word} role="columnheader" class={`c${at}`}>
            {word}
          </span>
        ))}
      </div>
      <div class="lines" role="rowgroup" style={{ height: `${total * ROW}px` }}>
        <div role="presentation" style={{ transform: `translateY(${shown.first * ROW}px)` }}>
          {lines}
        </div>
      </div>
      {printed && printed.length < total ? <p class="printed-part">{`The first ${counted(printed.length, "table")} of ${count(total)}: filter the list to print others.`}</p> : null}
    </div>
  );
}

interface LineProps {
  at: number;
  table: TableRow | undefined;
  active: boolean;
  chosen: string;
  choose: () => void;
}

function Line({ at, table, active, chosen, choose }: LineProps) {
  const classes = `line${active ? " active" : ""}${table && table.key === chosen ? " chosen" : ""}`;
  const open = () => {
    choose();
    if (table) setQuery({ table: table.key }, "push");
  };
  if (!table) {
    return (
      <div id={`row-${at}`} role="row" aria-rowindex={at + 2} class={classes}>
        <span role="gridcell" class="bone" aria-label="loading" />
      </div>
    );
  }
  return (
    <div id={`row-${at}`} role="row" aria-rowindex={at + 2} aria-selected={table.key === chosen} class={classes} onClick={open}>
      <span role="gridcell" class="c0">
        <StateMark state={table.state} />
      </span>
      <span role="gridcell" class="c1">
        <Name text={table.table} most={64} />
      </span>
      <span role="gridcell" class="c2 num">{count(table.rows_read)}</span>
      <span role="gridcell" class="c3 num">{count(table.rows_written)}</span>
      <span role="gridcell" class="c4 num">{table.rows_rejected ? count(table.rows_rejected) : "–"}</span>
      <span role="gridcell" class="c5 num">{duration(table.seconds)}</span>
      <span role="gridcell" class="c6 num">{table.attempts ? count(table.attempts) : "–"}</span>
      <span role="gridcell" class="c7">
        <Name text={table.targets?.map((one) => one.target).join(", ") ?? ""} most={40} />
      </span>
      <span role="gridcell" class="c8">{table.cause ? <Name text={table.cause.message} most={160} /> : null}</span>
    </div>
  );
}
