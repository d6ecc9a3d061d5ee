// A list of which only a window is loaded and drawn: rows of one fixed height. Pure.

export interface Span {
  first: number;
  /** One after the last. */
  end: number;
}

/** The rows that a view of this height shows, with some more on both sides. */
export function visible(top: number, height: number, row: number, total: number, more = 10): Span {
  const first = Math.max(0, Math.floor(top / row) - more);
  const end = Math.min(total, Math.ceil((top + height) / row) + more);
  return { first: Math.min(first, end), end };
}

/** The numbers of the pages of `size` rows that hold these rows. */
export function pagesOf(span: Span, size: number): number[] {
  if (span.end <= span.first) return [];
  const found: number[] = [];
  for (let page = Math.floor(span.first / size); page <= Math.floor((span.end - 1) / size); page += 1) found.push(page);
  return found;
}

/** Where the view must be, so that a row is in it. */
export function scrolledTo(row: number, top: number, height: number, size: number): number {
  if (row * size < top) return row * size;
  if ((row + 1) * size > top + height) return (row + 1) * size - height;
  return top;
}

/** The row that a key moves to; null: the key does not move. */
export function movedBy(key: string, row: number, total: number, shown: number): number | null {
  const last = total - 1;
  const steps: Record<string, number> = { j: row + 1, ArrowDown: row + 1, k: row - 1, ArrowUp: row - 1, PageDown: row + shown, PageUp: row - shown, Home: 0, End: last };
  const next = steps[key];
  return next === undefined || total === 0 ? null : Math.max(0, Math.min(last, next));
}
