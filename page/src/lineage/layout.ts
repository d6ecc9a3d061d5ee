// The places of a picture of a table's lineage: sources at the left, the target at the right. Pure.

import type { TableLineage, Use } from "../api/lineage_shapes";
import { isUnknown, type Look, LOOKS, lookOfUse, nameOf, ROWS, sourceOf, sourceSpot, targetSpots, usesOf } from "./uses";

export const ROW = 24;
export const HEAD = 44;
const FOOT = 6;
const GAP = 16;
const CARD_MAX = 360;
const WIDTH_MAX = 1320;
/** More columns of one source than these are one line from its head. */
const LINES_MAX = 40;
/** So are all of its columns, if there are more than these and they are used alike. */
const ALIKE_MAX = 8;
/** The target is at most this far below the top, so that it is in view with many sources. */
const TARGET_TOP_MAX = 60;

export interface Spot {
  id: string;
  name: string;
  /** Below the top of its card. */
  y: number;
}

export interface Box {
  title: string;
  note: string;
  x: number;
  y: number;
  width: number;
  height: number;
  spots: Spot[];
}

/** A line to a spot of the target. `column`: -1 for one from the head of the source. */
export interface Line {
  source: number;
  column: number;
  to: string;
  look: Look;
  y1: number;
  y2: number;
}

export interface Picture {
  width: number;
  height: number;
  /** In the order from above. */
  sources: (Box & { source: number })[];
  target: Box;
  lines: Line[];
  /** Those that are drawn when no column is pointed at: many that are alike are one, from head to head. */
  drawn: Line[];
  /** Where lines begin and end. */
  x1: number;
  x2: number;
}

const heightOf = (rows: number): number => HEAD + rows * ROW + FOOT;
const spotsOf = (ids: readonly string[], lineage: TableLineage): Spot[] => ids.map((id, at) => ({ id, name: nameOf(lineage, id), y: HEAD + at * ROW }));

/** The picture in a box of this width. */
export function laidOut(lineage: TableLineage, width: number): Picture {
  const whole = Math.max(240, Math.min(width, WIDTH_MAX));
  const card = Math.floor(Math.min(CARD_MAX, (whole - Math.max(56, whole * 0.24)) / 2));
  const ids = targetSpots(lineage);
  const spots = spotsOf(ids, lineage);
  const height = heightOf(ids.length);
  const middles = sourceMiddles(lineage, spots);
  const used = lineage.sources.map((_, source) => source).filter((source) => middles[source]!.some((one) => one !== null));
  const stacked = used.reduce((sum, source) => sum + heightOf(middles[source]!.filter((one) => one !== null).length) + GAP, -GAP);
  const top = Math.max(0, Math.min((stacked - height) / 2, TARGET_TOP_MAX));
  const all = Math.max(height + top, stacked);
  const sources = placed(lineage, middles, used, top, all, card);
  const target: Box = { title: lineage.target, note: noteOf(lineage), x: whole - card, y: top, width: card, height, spots };
  const lines = linesOf(lineage, sources, target);
  return { width: whole, height: all, sources, target, lines, drawn: drawnOf(lines, target), x1: card, x2: whole - card };
}

const noteOf = (lineage: TableLineage): string => (lineage.table && !lineage.target.includes(lineage.table) ? `${lineage.step} · ${lineage.table}` : lineage.step);

/** For each column of each source the mean height of the spots that depend on it; null: none does. */
function sourceMiddles(lineage: TableLineage, spots: readonly Spot[]): (number | null)[][] {
  const sums = lineage.sources.map((one) => one.columns.map(() => [0, 0] as [number, number]));
  const together = new Map<readonly Use[], [number, number]>();
  for (const spot of spots) {
    const uses = usesOf(lineage, spot.id);
    const [sum, number] = together.get(uses) ?? [0, 0];
    together.set(uses, [sum + spot.y, number + 1]);
  }
  for (const [uses, [sum, number]] of together) {
    for (const use of uses) {
      const one = sums[use.source]?.[use.column];
      if (!one) continue;
      one[0] += sum;
      one[1] += number;
    }
  }
  return sums.map((columns) => columns.map(([sum, number]) => (number === 0 ? null : sum / number)));
}

const mean = (of: readonly (number | null)[]): number => {
  const found = of.filter((one) => one !== null);
  return found.reduce((sum, one) => sum + one, 0) / Math.max(1, found.length);
};

/** Sources in the order of what depends on them, each as near to it as the others let it be. */
function placed(lineage: TableLineage, middles: (number | null)[][], used: readonly number[], top: number, all: number, width: number): Picture["sources"] {
  const centres = new Map(used.map((source) => [source, mean(middles[source]!)]));
  const order = [...used].sort((a, b) => centres.get(a)! - centres.get(b)!);
  const boxes = order.map((source) => {
    const one = lineage.sources[source]!;
    const columns = one.columns.map((_, column) => column).filter((column) => middles[source]![column] !== null);
    columns.sort((a, b) => middles[source]![a]! - middles[source]![b]! || a - b);
    const spots = spotsOf(columns.map((column) => sourceSpot(source, column)), lineage);
    const y = top + centres.get(source)! - mean(spots.map((spot) => spot.y));
    return { source, title: one.table, note: one.step, x: 0, y, width, height: heightOf(columns.length), spots };
  });
  let above = 0;
  for (const box of boxes) {
    box.y = Math.max(box.y, above);
    above = box.y + box.height + GAP;
  }
  let below = all;
  for (const box of boxes.reverse()) {
    box.y = Math.max(0, Math.min(box.y, below - box.height));
    below = box.y - GAP;
  }
  return boxes.reverse();
}

interface Bundle {
  source: number;
  column: number;
  look: Look;
  y1: number;
}

function linesOf(lineage: TableLineage, sources: Picture["sources"], target: Box): Line[] {
  const boxes = new Map(sources.map((box) => [box.source, box]));
  const heights = new Map(sources.flatMap((box) => box.spots.map((spot) => [spot.id, box.y + spot.y + ROW / 2] as const)));
  const known = new Map<string, Bundle[]>();
  const lines: Line[] = [];
  for (const spot of target.spots) {
    const unknown = isUnknown(lineage, spot.id);
    const key = `${unknown} ${spot.id === ROWS ? lineage.rows : lineage.columns[Number(spot.id.slice(1))]?.uses}`;
    const found = known.get(key) ?? bundles(usesOf(lineage, spot.id), unknown, boxes, heights);
    known.set(key, found);
    const y2 = target.y + spot.y + ROW / 2;
    for (const one of found) lines.push({ ...one, to: spot.id, y2 });
  }
  return lines;
}

/** Lines from one head are one, if there are many of them. */
function drawnOf(lines: readonly Line[], target: Box): Line[] {
  const alike = (line: Line): string => `${line.source} ${line.look}`;
  const heads = lines.filter((line) => line.column < 0);
  const numbers = new Map<string, number>();
  for (const line of heads) numbers.set(alike(line), (numbers.get(alike(line)) ?? 0) + 1);
  const isMany = (line: Line): boolean => line.column < 0 && numbers.get(alike(line))! > ALIKE_MAX;
  const firsts = new Map(heads.filter(isMany).map((line) => [alike(line), { ...line, to: "", y2: target.y + HEAD / 2 }]));
  return [...lines.filter((line) => !isMany(line)), ...firsts.values()];
}

/** The lines of a list of uses: one for each, or one from the head of a source. */
function bundles(uses: readonly Use[], unknown: boolean, boxes: ReadonlyMap<number, Box>, heights: ReadonlyMap<string, number>): Bundle[] {
  const bySource = new Map<number, Use[]>();
  for (const use of uses) {
    const own = bySource.get(use.source);
    if (own) own.push(use);
    else bySource.set(use.source, [use]);
  }
  return [...bySource].flatMap(([source, own]) => {
    const box = boxes.get(source)!;
    const looks = [...new Set(own.map((use) => lookOfUse(use, unknown)))];
    const alike = looks.length === 1 && own.length >= box.spots.length && own.length > (unknown ? 1 : ALIKE_MAX);
    if (alike || own.length > LINES_MAX) return [{ source, column: -1, look: looks.includes("made") ? "made" : looks[0]!, y1: box.y + HEAD / 2 }];
    return own.map((use) => ({ source, column: use.column, look: lookOfUse(use, unknown), y1: heights.get(sourceSpot(source, use.column))! }));
  });
}

/** The lines that a spot has a part in. `related`: the spots on its other side. */
export function linesAt(picture: Picture, spot: string, related: ReadonlySet<string>): Line[] {
  const of = sourceOf(spot);
  if (!of) return picture.lines.filter((line) => line.to === spot);
  return picture.lines.filter((line) => line.source === of.source && (line.column === of.column || (line.column < 0 && related.has(line.to))));
}

/** For each look one path of all lines that pass this part of the picture. */
export function paths(picture: Picture, lines: readonly Line[], top: number, bottom: number): [Look, string][] {
  const found: Record<Look, string> = { same: "", made: "", decides: "", unknown: "" };
  const bend = (picture.x2 - picture.x1) * 0.5;
  for (const { look, y1, y2 } of lines) {
    if (Math.max(y1, y2) < top || Math.min(y1, y2) > bottom) continue;
    found[look] += `M${picture.x1} ${y1}C${picture.x1 + bend} ${y1} ${picture.x2 - bend} ${y2} ${picture.x2} ${y2}`;
  }
  return LOOKS.filter((look) => found[look] !== "").map((look) => [look, found[look]]);
}
