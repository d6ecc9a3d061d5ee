// Loads the windows of the list of tables that are in view, and again while the run changes.

import { useEffect, useRef, useState } from "preact/hooks";
import { askAtOnce } from "../api/at_once";
import { ask, Problem } from "../api/client";
import type { TableList, TableRow } from "../api/shapes";
import { pagesOf, type Span } from "../parts/windows";
import { filterOf } from "../text/states";

const SIZE = 100;
/** Windows far from the view are forgotten: memory does not grow with the number of tables. */
const KEPT = 12;
/** Tables of one answer for print, and of a whole print. */
const PRINT_SIZE = 200;
const PRINTED_MAX = 20_000;

export interface TableWindows {
  /** Number of tables that match; null: not known yet. */
  total: number | null;
  problem: Problem | null;
  turn: number;
  at: (row: number) => TableRow | undefined;
  need: (span: Span) => void;
  again: () => void;
}

/** The address of one window. Pure. */
export function windowPath(run: string, text: string, sort: string, page: number, size = SIZE): string {
  const filter = filterOf(text);
  const asked = new URLSearchParams({ sort, skip: String(page * size), limit: String(size) });
  if (filter.text) asked.set("q", filter.text);
  for (const state of filter.states) asked.append("state", state.toLowerCase());
  return `runs/${encodeURIComponent(run)}/tables?${asked}`;
}

/** All rows that match, for print, up to a bound; fewer if the server does not answer. */
export function allRows(run: string, text: string, sort: string): TableRow[] {
  const rows: TableRow[] = [];
  for (let page = 0; rows.length < PRINTED_MAX; page += 1) {
    const found = askAtOnce<TableList>(windowPath(run, text, sort, page, PRINT_SIZE));
    rows.push(...(found?.tables ?? []));
    if (found === null || found.tables.length < PRINT_SIZE) break;
  }
  return rows;
}

export function useTableWindows(run: string, text: string, sort: string, turn: number): TableWindows {
  const [total, setTotal] = useState<number | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [, redraw] = useState(0);
  const [tries, setTries] = useState(0);
  const pages = useRef(new Map<number, { rows: TableRow[]; turn: number }>());
  const asking = useRef(new Map<number, AbortController>());
  const view = useRef<Span>({ first: 0, end: 1 });
  const own = `${text}\n${sort}`;
  const shown = useRef(own);
  if (shown.current !== own) {
    shown.current = own;
    forget(pages.current, asking.current);
    view.current = { first: 0, end: 1 };
  }

  const load = (page: number) => {
    const ending = new AbortController();
    asking.current.set(page, ending);
    ask<TableList>(windowPath(run, text, sort, page), { signal: ending.signal })
      .then((found) => {
        pages.current.set(page, { rows: found.tables, turn });
        trim(pages.current, page);
        setTotal(found.total);
        setProblem(null);
        redraw((before) => before + 1);
      })
      .catch((error: unknown) => {
        if (!ending.signal.aborted) setProblem(error instanceof Problem ? error : new Problem(0, String(error)));
      })
      .finally(() => {
        if (asking.current.get(page) === ending) asking.current.delete(page);
      });
  };
  const need = (span: Span) => {
    view.current = span.end > span.first ? span : { first: 0, end: 1 };
    const wanted = pagesOf(view.current, SIZE);
    for (const [page, ending] of asking.current) {
      if (!wanted.includes(page)) {
        ending.abort();
        asking.current.delete(page);
      }
    }
    for (const page of wanted) {
      if ((pages.current.get(page)?.turn ?? -1) < turn && !asking.current.has(page)) load(page);
    }
  };
  useEffect(() => need(view.current), [run, own, turn, tries]);
  useEffect(() => () => forget(pages.current, asking.current), [run]);
  const at = (row: number) => pages.current.get(Math.floor(row / SIZE))?.rows[row % SIZE];
  return { total, problem, turn, at, need, again: () => setTries(tries + 1) };
}

function forget(pages: Map<number, unknown>, asking: Map<number, AbortController>): void {
  for (const ending of asking.values()) ending.abort();
  asking.clear();
  pages.clear();
}

function trim(pages: Map<number, unknown>, near: number): void {
  if (pages.size <= KEPT) return;
  const far = [...pages.keys()].sort((a, b) => Math.abs(b - near) - Math.abs(a - near));
  for (const page of far.slice(0, pages.size - KEPT)) pages.delete(page);
}
