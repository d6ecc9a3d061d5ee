// Reads HOCON as far as an editor needs it: colours of a line, and the place of the cursor. The server alone decides
// whether a text is right. Pure.

export type Look = "comment" | "string" | "key" | "number" | "word" | "variable" | "mark";

export interface Piece {
  from: number;
  to: number;
  look: Look;
}

const COMMENT = /(?:#|\/\/).*/y;
const LONG = /"""/y;
const STRING = /"(?:[^"\\]|\\.)*"?/y;
const VARIABLE = /\$\{[^}]*\}?/y;
const BARE = /[^\s"{}[\],=:#$]+/y;
const NUMBER = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/;
const MARKS = "{}[],=:";

function taken(pattern: RegExp, line: string, at: number): string {
  pattern.lastIndex = at;
  return pattern.exec(line)?.[0] ?? "";
}

/** The pieces of a line, and whether a text in three quotes is open at its end. `open`: whether it is at its beginning. */
export function pieces(line: string, open: boolean): { pieces: Piece[]; open: boolean } {
  const found: Piece[] = [];
  let at = 0;
  if (open) {
    const end = line.indexOf('"""');
    at = end < 0 ? line.length : end + 3;
    if (at > 0) found.push({ from: 0, to: at, look: "string" });
    if (end < 0) return { pieces: found, open: true };
  }
  while (at < line.length) {
    if (taken(LONG, line, at)) {
      const end = line.indexOf('"""', at + 3);
      found.push({ from: at, to: end < 0 ? line.length : end + 3, look: "string" });
      if (end < 0) return { pieces: found, open: true };
      at = end + 3;
      continue;
    }
    const next = piece(line, at);
    if (next !== null) found.push(next);
    at = next?.to ?? at + 1;
  }
  return { pieces: found, open: false };
}

function piece(line: string, at: number): Piece | null {
  const made = (text: string, look: Look): Piece => ({ from: at, to: at + text.length, look });
  const comment = taken(COMMENT, line, at);
  if (comment) return made(comment, "comment");
  const string = taken(STRING, line, at);
  if (string) return made(string, isKey(line, at + string.length) ? "key" : "string");
  const variable = taken(VARIABLE, line, at);
  if (variable) return made(variable, "variable");
  if (line.startsWith("+=", at)) return made("+=", "mark");
  const bare = taken(BARE, line, at);
  if (bare) return made(bare, isKey(line, at + bare.length) ? "key" : NUMBER.test(bare) ? "number" : "word");
  return MARKS.includes(line[at] ?? " ") ? { from: at, to: at + 1, look: "mark" } : null;
}

/** Whether the text before this place is a key: a separator or a block follows. */
const isKey = (line: string, at: number): boolean => /^\s*(=|:|\+=|\{)/.test(line.slice(at));

/** Where the cursor is: `path`: the keys of the blocks round it; `key`: of the value that it is in, null: it is at a key
 * itself; `from`: where its word begins. */
export interface Place {
  path: string[];
  key: string | null;
  from: number;
  quoted: boolean;
}

/** The place at the end of a text; null inside of a comment, of a text in three quotes, and where no name begins. */
export function placeAt(text: string): Place | null {
  const walk = new Walk(text);
  while (walk.step());
  return walk.place();
}

/** Goes through a text up to its end. */
class Walk {
  private at = 0;
  private key = "";
  private inValue = false;
  private from: number;
  private quoted = false;
  private nowhere = false;
  private readonly frames: { key: string; list: boolean }[] = [];

  constructor(private readonly text: string) {
    this.from = text.length;
  }

  step(): boolean {
    const { text, at } = this;
    if (at >= text.length) return false;
    const letter = text[at] ?? "";
    if (letter === "#" || text.startsWith("//", at)) this.past(text.indexOf("\n", at), 0);
    else if (text.startsWith('"""', at)) this.past(text.indexOf('"""', at + 3), 3);
    else if (letter === '"') this.string();
    else if ("{}[]=:,\n".includes(letter)) this.mark(letter);
    else if (/\s/.test(letter)) this.at += 1;
    else if (letter === "$" && text[at + 1] === "{") this.past(text.indexOf("}", at), 1);
    else this.bare(taken(BARE, text, at) || letter);
    return true;
  }

  place(): Place | null {
    if (this.nowhere) return null;
    const { from, quoted } = this;
    const list = this.frames[this.frames.length - 1];
    const path = this.frames.map((one) => one.key).filter(Boolean);
    if (list?.list) return { path: list.key ? path.slice(0, -1) : path, key: list.key, from, quoted };
    if (this.inValue) return { path, key: this.key, from, quoted };
    return this.key ? null : { path, key: null, from, quoted };
  }

  /** Go on after something whose end was looked for; without an end no name can stand here. */
  private past(end: number, more: number): void {
    this.nowhere = end < 0;
    this.at = end < 0 ? this.text.length : end + more;
  }

  private string(): void {
    const string = taken(STRING, this.text, this.at);
    if (string.includes("\n")) {
      this.nowhere = true;
      this.at = this.text.length;
      return;
    }
    const closed = string.length > 1 && /(?<!\\)(?:\\\\)*"$/.test(string.slice(1));
    if (!closed) [this.from, this.quoted] = [this.at + 1, true];
    else if (!this.inValue) this.key += string.slice(1, -1);
    this.at += string.length;
  }

  private bare(word: string): void {
    if (this.at + word.length === this.text.length) this.from = this.at;
    else if (!this.inValue) this.key += word.replace(/\+$/, "");
    this.at += word.length;
  }

  private mark(letter: string): void {
    this.at += 1;
    if (letter === "=" || letter === ":") {
      this.inValue = true;
      return;
    }
    if (letter === "{" || letter === "[") this.frames.push({ key: this.key, list: letter === "[" });
    else if (letter === "}" || letter === "]") this.frames.pop();
    this.key = "";
    this.inValue = this.frames[this.frames.length - 1]?.list ?? false;
  }
}

/** The names of the data sets that the steps of a text give on. */
export function outputs(text: string): string[] {
  const found = new Set<string>();
  for (const one of text.matchAll(/(?:plugin_output|result_table_name)\s*[=:]\s*"?([\w.-]+)/g)) found.add(one[1] ?? "");
  return [...found];
}

/** The part of a line that a column names, counted in characters from 1: a word, or a text in quotes. */
export function spanAt(line: string, column: number): { from: number; to: number; quoted: boolean } {
  const from = Math.min(line.length, [...line].slice(0, Math.max(0, column - 1)).join("").length);
  const string = taken(STRING, line, from);
  const text = string || taken(VARIABLE, line, from) || taken(BARE, line, from) || line.slice(from, from + 1);
  return { from, to: from + text.length, quoted: string !== "" };
}

/** The word of a line that a suggested name stands for: the one at the column, or a value after it. Null: none is alike,
 * as where the problem is inside of a statement. */
export function replacedBy(line: string, column: number, suggestion: string): { from: number; to: number; quoted: boolean } | null {
  const first = spanAt(line, column);
  let found: { from: number; to: number; quoted: boolean; alike: number } | null = null;
  for (const one of pieces(line, false).pieces) {
    if (one.from < first.from || one.look === "mark" || one.look === "comment") continue;
    const quoted = line[one.from] === '"';
    const text = quoted ? line.slice(one.from + 1, one.to - 1) : line.slice(one.from, one.to);
    const alike = likeness(text.toLowerCase(), suggestion.toLowerCase());
    if (text !== suggestion && alike >= 0.5 && (found === null || alike > found.alike)) found = { from: one.from, to: one.to, quoted, alike };
  }
  return found && { from: found.from, to: found.to, quoted: found.quoted };
}

/** How alike two texts are, from 0 to 1: letters in common, in order. */
function likeness(one: string, other: string): number {
  let row = new Array<number>(other.length + 1).fill(0);
  for (const letter of one.slice(0, 200)) {
    const next = [0];
    for (let at = 1; at <= other.length; at += 1) next.push(letter === other[at - 1] ? (row[at - 1] ?? 0) + 1 : Math.max(row[at] ?? 0, next[at - 1] ?? 0));
    row = next;
  }
  return (2 * (row[other.length] ?? 0)) / Math.max(1, one.length + other.length);
}

/** A suggested name as a text of a job file. */
export const written = (name: string, quoted: boolean): string => (quoted || !/^[\w.-]+$/.test(name) ? JSON.stringify(name) : name);
