// The lineage of a run: its target tables, and for one of them which source columns its columns depend on.

import "../style/lineage.css";

import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import type { LineageLine, LineageLines } from "../api/lineage_shapes";
import { round } from "../api/stream";
import { FilterField, NoTableMatches } from "../parts/filter";
import { allRows, type PathOf, useListWindows } from "../parts/list_windows";
import { Name } from "../parts/marks";
import { Empty, Failed, Loading } from "../parts/views";
import { VirtualRows } from "../parts/virtual";
import { query, setQuery } from "../state/location";
import { count, counted, plainName } from "../text/format";
import { NO_SPOT, TableCard } from "./table_card";

const HEADS = ["Target", "Table", "Step", "Columns", "Unknown", "Masked", "From"];
const NUMBERS = ["", "", "mono", "num", "num", "num"];
const rowsOf = (answer: LineageLines) => ({ rows: answer.tables, total: answer.total });
const close = () => {
  setQuery({ target: "", ...NO_SPOT }, "push");
  // In a narrow window the list is there again after the next drawing.
  requestAnimationFrame(() => document.querySelector<HTMLElement>("[data-rows]")?.focus());
};

export function LineageTab({ run, state }: { run: string; state: string }) {
  const asked = query.value;
  const [text, key] = [asked.get("q") ?? "", asked.get("target") ?? ""];
  const path: PathOf = (skip, limit) => `runs/${encodeURIComponent(run)}/lineage?${new URLSearchParams({ part: "tables", skip: String(skip), limit: String(limit), ...(text ? { q: text } : {}) })}`;
  // A driver that goes on plans again.
  const changes = useRef({ state, number: 0 });
  if (changes.current.state !== state) changes.current = { state, number: changes.current.number + 1 };
  const now = changes.current.number + round.value;
  const list = useListWindows(path, rowsOf, now);
  if (list.problem?.kind === "no-lineage") return <NoLineage remedy={list.problem.remedy} />;
  if (list.total === null) return list.problem ? <section class="card"><Failed problem={list.problem} again={list.again} /></section> : <Loading />;
  const only = list.total === 1 && !text ? list.at(0) : undefined;
  if (only) return <TableCard run={run} table={only.key} turn={now} close={null} />;
  return (
    <div class={key ? "lineage open" : "lineage"}>
      <section class="card lineage-list" aria-label="target tables">
        <div class="card-head">
          <FilterField text={text} hint="Filter tables" label="filter target tables by name" pause={120} />
        </div>
        {list.problem ? <Failed problem={list.problem} again={list.again} /> : null}
        {list.total === 0 ? (text ? <NoTableMatches /> : <Empty title="This run writes no table." />) : null}
        {list.total > 0 ? (
          <VirtualRows key={text} list={list} label="target tables; j and k move, Enter opens" column="l" heads={HEADS} cells={(one) => cellsOf(one, key ? 30 : 70)} classes={NUMBERS} chosen={(one) => one.key === key} open={(one) => setQuery({ target: one.key, ...NO_SPOT }, "push")} close={close} whole={() => allRows(path, rowsOf)} noun="table" />
        ) : null}
        <p class="list-end faint num" role="status">
          {counted(list.total, "table")}
        </p>
      </section>
      {key ? <TableCard key={key} run={run} table={key} turn={now} close={close} /> : null}
    </div>
  );
}

const cellsOf = (one: LineageLine, most: number): ComponentChildren[] => [
  <Name text={one.target} most={most} />,
  <Name text={one.table} most={50} />,
  <Name text={one.step} most={40} />,
  count(one.columns),
  one.unknown ? count(one.unknown) : "–",
  one.masked ? count(one.masked) : "–",
  plainName(`${one.sources.map((of) => of.table).join(", ")}${one.sources_total > one.sources.length ? ` and ${count(one.sources_total - one.sources.length)} more` : ""}` || "–"),
];

function NoLineage({ remedy }: { remedy: string }) {
  return (
    <section class="card" aria-label="lineage">
      <Empty title="No lineage of this run is stored.">
        <p>
          {plainName(remedy.charAt(0).toUpperCase() + remedy.slice(1))
            .split("`")
            .map((part, at) => (at % 2 === 1 ? <code key={at}>{part}</code> : part))}
          .
        </p>
      </Empty>
    </section>
  );
}
