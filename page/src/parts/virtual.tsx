// A list of rows with one height, of which only those in view are drawn; on paper it is whole. Its keys are those of the
// help.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { useNow } from "../state/asking";
import { usePrinting } from "../state/printing";
import { useHeight } from "../state/size";
import { count, counted } from "../text/format";
import type { ListWindows } from "./list_windows";
import { movedBy, scrolledTo, visible } from "./windows";

const ROW = 28;

interface Props<T> {
  list: Pick<ListWindows<T>, "total" | "turn" | "at" | "need">;
  label: string;
  /** Begins the classes of cells, and the ids of rows. */
  column: string;
  heads: readonly string[];
  /** The texts of the cells of a row. */
  cells: (one: T) => ComponentChildren[];
  /** Further classes of a cell. */
  classes?: readonly string[];
  chosen: (one: T) => boolean;
  open: (one: T) => void;
  close: () => void;
  /** All rows, for print. */
  whole: () => T[];
  noun: string;
  /** The browser prints: it has been asked before this list was there. */
  paper?: boolean;
}

export function VirtualRows<T>({ list, label, column, heads, cells, classes = [], chosen, open, close, whole, noun, paper = false }: Props<T>) {
  const [top, setTop] = useState(0);
  const [row, rowNow, setRow] = useNow(0);
  const place = useRef<HTMLDivElement>(null);
  const height = useHeight(place, 600);
  const total = list.total ?? 0;
  const view = visible(top, height, ROW, total);
  useEffect(() => list.need(view), [view.first, view.end, list.turn]);
  const printed = usePrinting(whole) ?? (paper ? whole() : null);
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
      if (found) open(found);
    } else if (event.key === "Escape") {
      close();
    }
  };
  const lines = [];
  for (let at = shown.first; at < shown.end; at += 1) {
    const one = printed ? printed[at] : list.at(at);
    const isChosen = one !== undefined && chosen(one);
    const press = () => {
      setRow(at);
      if (one !== undefined) open(one);
    };
    lines.push(
      <div key={at} id={`${column}-row-${at}`} role="row" aria-rowindex={at + 2} aria-selected={one === undefined ? undefined : isChosen} class={`line${at === row ? " active" : ""}${isChosen ? " chosen" : ""}`} onClick={press}>
        {one === undefined ? (
          <span role="gridcell" class="bone" aria-label="loading" />
        ) : (
          cells(one).map((cell, index) => (
            <span key={index} role="gridcell" class={`${column}${index} ${classes[index] ?? ""}`}>
              {cell}
            </span>
          ))
        )}
      </div>,
    );
  }
  return (
    <div ref={place} class="virtual" data-rows role="grid" tabIndex={0} aria-label={label} aria-rowcount={total + 1} aria-activedescendant={total > 0 ? `${column}-row-${row}` : undefined} onScroll={(event) => setTop(event.currentTarget.scrollTop)} onKeyDown={move}>
      <div class="line line-head" role="row" aria-rowindex={1}>
        {heads.map((word, at) => (
          <span key={word} role="columnheader" class={`${column}${at}`}>
            {word}
          </span>
        ))}
      </div>
      <div class="lines" role="rowgroup" style={{ height: `${total * ROW}px` }}>
        <div role="presentation" style={{ transform: `translateY(${shown.first * ROW}px)` }}>
          {lines}
        </div>
      </div>
      {printed && printed.length < total ? <p class="printed-part">{`The first ${counted(printed.length, noun)} of ${count(total)}: filter the list to print others.`}</p> : null}
    </div>
  );
}
