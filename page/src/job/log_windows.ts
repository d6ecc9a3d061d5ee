// Windows of a log: those that are loaded, and the positions of others. Pure.

import type { LogWindow } from "../api/shapes";

export const WINDOW = 65_536;
const KEPT_LINES = 5000;

/** Where the view is: at the end, which is followed, at the start, or at a window between. */
export type LogPlace = { is: "end" } | { is: "start" } | LogSpan;

/** `cuts`: it begins within a line, which is the last one of the window before. */
export interface LogSpan {
  is: "from";
  position: string;
  bytes: number;
  cuts: boolean;
}

export interface LoadedLog {
  parts: { from: string; lines: string[] }[];
  next: string | null;
  /** Whether lines before the first one were dropped from the view, or never loaded. */
  cut: boolean;
}

export const NOTHING: LoadedLog = { parts: [], next: null, cut: false };

export const linesOf = (log: LoadedLog): string[] => log.parts.flatMap((one) => one.lines);

/** The windows with another one; the oldest are dropped. A window that does not follow them stands alone. */
export function joined(before: LoadedLog, more: LogWindow, follows = true): LoadedLog {
  const parts = [...(follows ? before.parts : []), ...(more.lines.length > 0 ? [{ from: more.from ?? "", lines: more.lines }] : [])];
  let lines = parts.reduce((sum, one) => sum + one.lines.length, 0);
  let cut = before.cut || !follows;
  while (parts.length > 1 && lines > KEPT_LINES) {
    lines -= parts.shift()?.lines.length ?? 0;
    cut = true;
  }
  return { parts, next: more.next ?? before.next, cut };
}

/** The window before a position; null: there is none. */
export function before(position: string | undefined, generations: LogWindow["generations"]): LogSpan | null {
  const [name, offset] = parsed(position);
  const at = generations.findIndex((one) => parsed(one.from)[0] === name);
  if (at < 0) return null;
  if (offset > 0) return span(name, offset);
  const older = generations[at - 1];
  return older && older.bytes > 0 ? span(parsed(older.from)[0], older.bytes) : null;
}

function span(name: string, end: number): LogSpan {
  const begin = Math.max(0, end - WINDOW);
  return { is: "from", position: `${name}:${begin}`, bytes: end - begin, cuts: begin > 0 };
}

function parsed(position: string | undefined): [string, number] {
  const cut = position?.lastIndexOf(":") ?? -1;
  return position === undefined || cut < 0 ? ["", 0] : [position.slice(0, cut), Number(position.slice(cut + 1))];
}

/** The numbers of the lines with a text, whatever its capitals. */
export function found(lines: readonly string[], text: string): number[] {
  const wanted = text.toLowerCase();
  return wanted === "" ? [] : lines.flatMap((line, at) => (line.toLowerCase().includes(wanted) ? [at] : []));
}
