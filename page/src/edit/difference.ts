// The difference of two texts by lines, in the form of `diff -u`. Pure.

const ROUND = 3;
/** Cells of the table that compares both middles; larger texts are shown as replaced. */
const CELLS_MAX = 4_000_000;

/** The lines that differ, with three equal ones round them; empty: the texts are equal. The first two are the names. */
export function difference(before: string, after: string, names: readonly [string, string]): string[] {
  const [a, b] = [before.split("\n"), after.split("\n")];
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head += 1;
  if (head === a.length && head === b.length) return [];
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail += 1;
  const middle = compared(a.slice(head, a.length - tail), b.slice(head, b.length - tail));
  const all = [...a.slice(0, head).map((line) => ` ${line}`), ...middle, ...a.slice(a.length - tail).map((line) => ` ${line}`)];
  return [`--- ${names[0]}`, `+++ ${names[1]}`, ...around(all)];
}

/** The lines of both texts: removed, added and equal ones. */
function compared(a: string[], b: string[]): string[] {
  if (a.length * b.length > CELLS_MAX) return [...a.map((line) => `-${line}`), ...b.map((line) => `+${line}`)];
  const width = b.length + 1;
  const common = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      const at = i * width + j;
      common[at] = a[i] === b[j] ? (common[at + width + 1] ?? 0) + 1 : Math.max(common[at + width] ?? 0, common[at + 1] ?? 0);
    }
  }
  const found: string[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    const at = i * width + j;
    if (i < a.length && j < b.length && a[i] === b[j]) {
      found.push(` ${a[i]}`);
      i += 1;
      j += 1;
    } else if (i < a.length && (j === b.length || (common[at + width] ?? 0) >= (common[at + 1] ?? 0))) {
      found.push(`-${a[i]}`);
      i += 1;
    } else {
      found.push(`+${b[j]}`);
      j += 1;
    }
  }
  return found;
}

/** Only the changes and what is round them, each part after its place. */
function around(all: readonly string[]): string[] {
  const near = new Set<number>();
  all.forEach((line, at) => {
    if (line[0] === " ") return;
    for (let one = at - ROUND; one <= at + ROUND; one += 1) near.add(one);
  });
  const found: string[] = [];
  let [old, now] = [1, 1];
  all.forEach((line, at) => {
    if (near.has(at)) {
      if (!near.has(at - 1) || at === 0) found.push(`@@ -${old} +${now} @@`);
      found.push(line);
    }
    if (line[0] !== "+") old += 1;
    if (line[0] !== "-") now += 1;
  });
  return found;
}
