// Loads the windows of a list of the server that are in view, and again while it changes.

import { useEffect, useRef, useState } from "preact/hooks";
import { askAtOnce } from "../api/at_once";
import { ask, Problem } from "../api/client";
import { pagesOf, type Span } from "./windows";

const SIZE = 100;
/** Windows far from the view are forgotten: memory does not grow with the list. */
const KEPT = 12;
/** Rows of one answer for print, and of a whole print. */
const PRINT_SIZE = 200;
const PRINTED_MAX = 20_000;

/** The address of a window: how many rows are before it, and how many it has. */
export type PathOf = (skip: number, limit: number) => string;
/** The rows of an answer, and how many the list has. */
export type RowsOf<A, T> = (answer: A) => { rows: T[]; total: number };

export interface ListWindows<T> {
  /** Number of rows that match; null: not known yet. */
  total: number | null;
  problem: Problem | null;
  turn: number;
  at: (row: number) => T | undefined;
  need: (span: Span) => void;
  again: () => void;
}

/** All rows that match, for print, up to a bound; fewer if the server does not answer. */
export function allRows<A, T>(path: PathOf, rowsOf: RowsOf<A, T>): T[] {
  const rows: T[] = [];
  while (rows.length < PRINTED_MAX) {
    const found = askAtOnce<A>(path(rows.length, PRINT_SIZE));
    if (found === null) break;
    const part = rowsOf(found).rows;
    rows.push(...part);
    if (part.length < PRINT_SIZE) break;
  }
  return rows;
}

/** `turn`: grows when rows in view must be read again. */
export function useListWindows<A, T>(path: PathOf, rowsOf: RowsOf<A, T>, turn: number): ListWindows<T> {
  const [total, setTotal] = useState<number | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [, redraw] = useState(0);
  const [tries, setTries] = useState(0);
  const pages = useRef(new Map<number, { rows: T[]; turn: number }>());
  const asking = useRef(new Map<number, AbortController>());
  const view = useRef<Span>({ first: 0, end: 1 });
  const own = path(0, SIZE);
  const shown = useRef(own);
  if (shown.current !== own) {
    shown.current = own;
    forget(pages.current, asking.current);
    view.current = { first: 0, end: 1 };
  }

  const load = (page: number) => {
    const ending = new AbortController();
    asking.current.set(page, ending);
    ask<A>(path(page * SIZE, SIZE), { signal: ending.signal })
      .then((answer) => {
        const found = rowsOf(answer);
        pages.current.set(page, { rows: found.rows, turn });
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
  useEffect(() => need(view.current), [own, turn, tries]);
  useEffect(() => () => forget(pages.current, asking.current), []);
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
