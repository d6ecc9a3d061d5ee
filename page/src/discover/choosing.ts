// Which tables a filter matches, and which are chosen. Pure.

export interface FoundTable {
  table: string;
  rows?: number | null;
  bytes?: number | null;
  columns?: number;
  key?: string[];
  problem?: string;
  remedy?: string;
}

/** The last part of a full name, without the quotes that protect dots and quotes in it. */
export function bareName(full: string): string {
  const quoted = /(?:^|\.)"((?:[^"]|"")*)"$/.exec(full);
  return quoted?.[1] !== undefined ? quoted[1].replaceAll('""', '"') : full.slice(full.lastIndexOf(".") + 1);
}

type Test = (full: string, bare: string) => boolean;

/** A word with `*` is the pattern of a whole name, full or without its schema; any other word is a part of the full name. */
function testOf(word: string): Test {
  if (word.startsWith("!") && word.length > 1) {
    const inner = testOf(word.slice(1));
    return (full, bare) => !inner(full, bare);
  }
  if (!word.includes("*")) return (full) => full.includes(word);
  const pattern = word.split("*");
  return (full, bare) => fits(pattern, full) || fits(pattern, bare);
}

/** Whether a text is these pieces in their order, with anything between two of them. Takes linear time. */
function fits(pieces: readonly string[], text: string): boolean {
  const first = pieces[0] ?? "";
  const last = pieces[pieces.length - 1] ?? "";
  if (text.length < first.length + last.length || !text.startsWith(first) || !text.endsWith(last)) return false;
  let at = first.length;
  for (const piece of pieces.slice(1, -1)) {
    const found = text.indexOf(piece, at);
    if (found < 0) return false;
    at = found + piece.length;
  }
  return at <= text.length - last.length;
}

/** The tables that match every word of a filter, in any case; `!` before a word: those that do not. */
export function matching(tables: readonly FoundTable[], filter: string): readonly FoundTable[] {
  const tests = filter.toLowerCase().split(/\s+/).filter(Boolean).map(testOf);
  if (tests.length === 0) return tables;
  return tables.filter((one) => {
    const full = one.table.toLowerCase();
    const bare = bareName(full);
    return tests.every((test) => test(full, bare));
  });
}

/** Whether a run could read it. */
export const readable = (table: FoundTable): boolean => table.problem === undefined;

/** The chosen names after these tables were chosen, or dropped. A table with a problem is never chosen. */
export function chosenWith(chosen: ReadonlySet<string>, tables: readonly FoundTable[], wanted: boolean): ReadonlySet<string> {
  const after = new Set(chosen);
  for (const one of tables) {
    if (!wanted) after.delete(one.table);
    else if (readable(one)) after.add(one.table);
  }
  return after;
}

/** Whether a text is a reference to a secret, as job files have them. */
export const isReference = (text: string): boolean => /^\$\{(env|file):[^${}]+\}$/.test(text);

/** The further options of `key=value` lines. */
export function optionsOf(lines: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const line of lines.split("\n")) {
    const at = line.indexOf("=");
    if (at > 0) found[line.slice(0, at).trim()] = line.slice(at + 1).trim();
  }
  return found;
}
