// The tables of a connection: a list of which only a window is drawn. One key chooses all that match the filter.

import { useRef, useState } from "preact/hooks";
import { Name } from "../parts/marks";
import { movedBy, scrolledTo, visible } from "../parts/windows";
import { useNow } from "../state/asking";
import { useHeight } from "../state/size";
import { bytes, count, plainName } from "../text/format";
import { chosenWith, type FoundTable, readable } from "./choosing";
import { chosen } from "./connection";

const ROW = 28;
const HEADS = ["", "Table", "Rows", "Size", "Columns", "Key"];

/** Choose these tables, or drop them. */
export function choose(tables: readonly FoundTable[], wanted: boolean): void {
  chosen.value = chosenWith(chosen.peek(), tables, wanted);
}

export function TableList({ tables }: { tables: readonly FoundTable[] }) {
  const [top, setTop] = useState(0);
  const [row, rowNow, setRow] = useNow(0);
  const place = useRef<HTMLDivElement>(null);
  const height = useHeight(place, 600);
  const shown = visible(top, height, ROW, tables.length);
  const toggle = (at: number) => {
    const one = tables[at];
    if (one) choose([one], !chosen.peek().has(one.table));
  };
  const keys = (event: KeyboardEvent) => {
    const box = place.current;
    if (!box || event.ctrlKey || event.metaKey || event.altKey) return;
    const next = movedBy(event.key, rowNow(), tables.length, Math.floor(height / ROW) - 1);
    if (next !== null) {
      setRow(next);
      box.scrollTop = scrolledTo(next, box.scrollTop, box.clientHeight - ROW, ROW);
    } else if (event.key === "a" || event.key === "x") choose(tables, event.key === "a");
    else if (event.key === " " || event.key === "Enter") toggle(rowNow());
    else return;
    event.preventDefault();
  };
  const lines = [];
  for (let at = shown.first; at < shown.end; at += 1) {
    const one = tables[at];
    if (one) lines.push(<Line key={at} at={at} table={one} active={at === row} chosen={chosen.value.has(one.table)} press={() => { setRow(at); toggle(at); }} />);
  }
  return (
    <div ref={place} class="virtual found" data-rows role="grid" aria-multiselectable="true" tabIndex={0} aria-label="tables; a chooses all that are listed, x drops them, Space one" aria-rowcount={tables.length + 1} aria-activedescendant={tables.length > 0 ? `row-${row}` : undefined} onScroll={(event) => setTop(event.currentTarget.scrollTop)} onKeyDown={keys}>
      <div class="line line-head" role="row" aria-rowindex={1}>
        {HEADS.map((word, at) => (
          <span key={word} role="columnheader" class={`f${at}`}>
            {word || <span class="unseen">chosen</span>}
          </span>
        ))}
      </div>
      <div class="lines" role="rowgroup" style={{ height: `${tables.length * ROW}px` }}>
        <div role="presentation" style={{ transform: `translateY(${shown.first * ROW}px)` }}>
          {lines}
        </div>
      </div>
    </div>
  );
}

interface LineProps {
  at: number;
  table: FoundTable;
  active: boolean;
  chosen: boolean;
  press: () => void;
}

function Line({ at, table, active, chosen: taken, press }: LineProps) {
  return (
    <div id={`row-${at}`} role="row" aria-rowindex={at + 2} aria-selected={taken} class={`line${active ? " active" : ""}${taken ? " chosen" : ""}`} onClick={press}>
      <span role="gridcell" class="f0" aria-label={taken ? "chosen" : readable(table) ? "not chosen" : "cannot be read"}>
        {taken ? "✓" : readable(table) ? "" : "!"}
      </span>
      <span role="gridcell" class="f1">
        <Name text={table.table} most={80} />
      </span>
      {readable(table) ? (
        <>
          <span role="gridcell" class="f2 num">{count(table.rows)}</span>
          <span role="gridcell" class="f3 num">{bytes(table.bytes)}</span>
          <span role="gridcell" class="f4 num">{count(table.columns)}</span>
          <span role="gridcell" class="f5 mono">{plainName((table.key ?? []).join(", ") || "–")}</span>
        </>
      ) : (
        <span role="gridcell" class="f-problem" title={plainName(`${table.problem}. ${table.remedy}`)}>
          {plainName(table.problem ?? "")}
        </span>
      )}
    </div>
  );
}
