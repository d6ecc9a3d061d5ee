// All tables of a run: a list of which only a window is loaded and drawn, and a panel for one table.

import type { ComponentChildren } from "preact";
import type { LiveRun, RunHead, TableList, TableRow } from "../api/shapes";
import { round } from "../api/stream";
import { Choice } from "../parts/choice";
import { FilterField, NoTableMatches } from "../parts/filter";
import { allRows, type PathOf, useListWindows } from "../parts/list_windows";
import { Name, StateMark } from "../parts/marks";
import { Empty, Failed } from "../parts/views";
import { VirtualRows } from "../parts/virtual";
import { query, setQuery } from "../state/location";
import { count, counted, duration } from "../text/format";
import { filterOf, TABLE_ORDER, toggled } from "../text/states";
import { freshTable, useSlowly } from "./overview";
import { TablePanel } from "./table_panel";

const SORTS: [string, string][] = [["name", "name"], ["state", "state"], ["rows", "rows"], ["seconds", "time"], ["attempts", "retries"]];

/** The address of one window. Pure. */
function windowPath(run: string, text: string, sort: string, skip: number, limit: number): string {
  const filter = filterOf(text);
  const asked = new URLSearchParams({ sort, skip: String(skip), limit: String(limit) });
  if (filter.text) asked.set("q", filter.text);
  for (const state of filter.states) asked.append("state", state.toLowerCase());
  return `runs/${encodeURIComponent(run)}/tables?${asked}`;
}

const rowsOf = (answer: TableList) => ({ rows: answer.tables, total: answer.total });

export function TablesTab({ run, head, live }: { run: string; head: RunHead; live: LiveRun | undefined }) {
  const asked = query.value;
  const [text, sort, key] = [asked.get("q") ?? "", asked.get("sort") ?? "name", asked.get("table") ?? ""];
  const turn = useSlowly(live) + round.value;
  const path: PathOf = (skip, limit) => windowPath(run, text, sort, skip, limit);
  const list = useListWindows(path, rowsOf, turn);
  const counts = live?.live?.states ?? head.tables ?? {};
  return (
    <div class={key ? "split open" : "split"}>
      <section class="card tables" aria-label="tables">
        <div class="card-head">
          <FilterField text={text} hint="Filter by name, or state:failed" label="filter tables by name, or state:failed" pause={80} />
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
        {list.total === 0 && !list.problem ? (text ? <NoTableMatches /> : <Empty title="No table has begun yet." />) : null}
        {list.total !== 0 ? (
          <VirtualRows key={`${text} ${sort}`} list={list} label="tables; j and k move, Enter opens" column="c" heads={HEADS} cells={(table) => cellsOf(freshTable(table, live))} classes={NUMBERS} chosen={(table) => table.key === key} open={(table) => setQuery({ table: table.key }, "push")} close={() => setQuery({ table: "" })} whole={() => allRows(path, rowsOf)} noun="table" />
        ) : null}
        <p class="list-end faint num" role="status">
          {list.total === null ? "" : counted(list.total, "table")}
        </p>
      </section>
      {key ? <TablePanel run={run} name={key} turn={turn} alive={head.state === "RUNNING" || head.state === "STALLED"} /> : null}
    </div>
  );
}

const HEADS = ["State", "Table", "Read", "Written", "Rejected", "Time", "Retries", "Target", "Cause"];
const NUMBERS = ["", "", "num", "num", "num", "num", "num"];

const cellsOf = (table: TableRow): ComponentChildren[] => [
  <StateMark state={table.state} />,
  <Name text={table.table} most={64} />,
  count(table.rows_read),
  count(table.rows_written),
  table.rows_rejected ? count(table.rows_rejected) : "–",
  duration(table.seconds),
  table.attempts ? count(table.attempts) : "–",
  <Name text={table.targets?.map((one) => one.target).join(", ") ?? ""} most={40} />,
  table.cause ? <Name text={table.cause.message} most={160} /> : null,
];
