// What depends on what in the lineage of a table. A spot is a column of the target (`t3`), the choice of its rows
// (`rows`), or a column of a source (`s0.4`). Pure.

import type { TableLineage, Use } from "../api/lineage_shapes";

/** How a spot is used: its value goes on as it is, changed, or it only decides; or no step says how. */
export type Look = "same" | "made" | "decides" | "unknown";
/** The mark of a column of the target. */
export type Mark = Look | "aggregated" | "masked" | "none";

export const ROWS = "rows";
export const LOOKS: readonly Look[] = ["same", "made", "decides", "unknown"];
const WORDS: Record<string, string> = { IDENTITY: "as it is", TRANSFORMATION: "transformed", AGGREGATION: "aggregated", JOIN: "join", GROUP_BY: "group by", FILTER: "filter", SORT: "sort", WINDOW: "window", CONDITIONAL: "condition" };
const STRONGEST: readonly Mark[] = ["masked", "aggregated", "made", "same", "decides"];
const VALUES = ["IDENTITY", "TRANSFORMATION", "AGGREGATION"];

export const targetSpot = (at: number): string => `t${at}`;
export const sourceSpot = (source: number, column: number): string => `s${source}.${column}`;

/** The numbers of a column of a source; null: the spot is of the target. */
export function sourceOf(spot: string): { source: number; column: number } | null {
  const found = /^s(\d+)\.(\d+)$/.exec(spot);
  return found ? { source: Number(found[1]), column: Number(found[2]) } : null;
}

export function lookOfUse(use: Use, unknown: boolean): Look {
  if (unknown) return "unknown";
  if (!VALUES.includes(use.kind)) return "decides";
  return use.kind === "IDENTITY" && !use.masking ? "same" : "made";
}

function wordOf(use: Use): string {
  const word = WORDS[use.kind] ?? use.kind.toLowerCase();
  return use.masking ? (use.kind === "AGGREGATION" ? `${word}, masked` : "masked") : word;
}

const markOfUse = (use: Use, look: Look): Mark => (look !== "made" ? look : use.masking ? "masked" : use.kind === "AGGREGATION" ? "aggregated" : "made");

/** The uses of a spot of the target. */
export function usesOf(lineage: TableLineage, spot: string): readonly Use[] {
  const column = lineage.columns[Number(spot.slice(1))];
  return lineage.uses[spot === ROWS ? lineage.rows : (column?.uses ?? -1)] ?? [];
}

export const isUnknown = (lineage: TableLineage, spot: string): boolean => spot !== ROWS && (lineage.columns[Number(spot.slice(1))]?.unknown ?? false);

/** All spots of the target, in their order. */
export const targetSpots = (lineage: TableLineage): string[] => [...(usesOf(lineage, ROWS).length > 0 ? [ROWS] : []), ...lineage.columns.map((_, at) => targetSpot(at))];

export function nameOf(lineage: TableLineage, spot: string): string {
  const of = sourceOf(spot);
  if (of) return lineage.sources[of.source]?.columns[of.column] ?? "";
  return spot === ROWS ? "which rows come out" : (lineage.columns[Number(spot.slice(1))]?.name ?? "");
}

/** How a column of the target is made: the strongest of its uses. */
export function markOf(lineage: TableLineage, spot: string): Mark {
  if (spot === ROWS) return "decides";
  if (isUnknown(lineage, spot)) return "unknown";
  const found = new Set(usesOf(lineage, spot).map((use) => markOfUse(use, lookOfUse(use, false))));
  return STRONGEST.find((mark) => found.has(mark)) ?? "none";
}

/** Spots of one source that are used alike, or that use a column alike. */
export interface Dependency {
  look: Look;
  mark: Mark;
  how: string;
  /** The source that they are of. */
  source: number;
  spots: string[];
}

/** What a spot of the target depends on, or what depends on a column of a source. */
export function dependencies(lineage: TableLineage, spot: string): Dependency[] {
  const found = new Map<string, Dependency>();
  const add = (use: Use, look: Look, other: string) => {
    const how = look === "unknown" ? "unknown" : wordOf(use);
    const key = `${look} ${how} ${use.source}`;
    const known = found.get(key);
    if (known) known.spots.push(other);
    else found.set(key, { look, mark: markOfUse(use, look), how, source: use.source, spots: [other] });
  };
  const of = sourceOf(spot);
  if (!of) {
    for (const use of usesOf(lineage, spot)) add(use, lookOfUse(use, isUnknown(lineage, spot)), sourceSpot(use.source, use.column));
    return [...found.values()];
  }
  const known = new Map<readonly Use[], readonly Use[]>();
  for (const target of targetSpots(lineage)) {
    const uses = usesOf(lineage, target);
    if (!known.has(uses)) known.set(uses, uses.filter((use) => use.source === of.source && use.column === of.column));
    for (const use of known.get(uses) ?? []) add(use, lookOfUse(use, isUnknown(lineage, target)), target);
  }
  return [...found.values()];
}

/** The columns of the target with this text in their names, or in those of the columns that they depend on. */
export function narrowed(lineage: TableLineage, text: string): TableLineage {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return lineage;
  const hits = new Map<number, boolean>();
  const isHit = (number: number): boolean => {
    const known = hits.get(number);
    if (known !== undefined) return known;
    const found = (lineage.uses[number] ?? []).some((use) => nameOf(lineage, sourceSpot(use.source, use.column)).toLowerCase().includes(wanted));
    hits.set(number, found);
    return found;
  };
  return { ...lineage, columns: lineage.columns.filter((one) => one.name.toLowerCase().includes(wanted) || (!one.unknown && isHit(one.uses))) };
}

/** The parameters of the address that name a spot; empty ones are taken out of it. */
export function addressOf(lineage: TableLineage, spot: string): Record<string, string> {
  const of = sourceOf(spot);
  const [step, from] = of ? [lineage.sources[of.source]?.step ?? "", lineage.sources[of.source]?.table ?? ""] : ["", ""];
  return { step, from, column: spot === ROWS || spot === "" ? "" : nameOf(lineage, spot), rows: spot === ROWS ? "1" : "" };
}

/** The spot that the address names; null: none of this table. */
export function spotIn(lineage: TableLineage, asked: URLSearchParams): string | null {
  const [step, from, name] = [asked.get("step"), asked.get("from"), asked.get("column")];
  if (asked.get("rows") === "1") return ROWS;
  if (name === null) return null;
  if (from === null) {
    const at = lineage.columns.findIndex((one) => one.name === name);
    return at < 0 ? null : targetSpot(at);
  }
  const source = lineage.sources.findIndex((one) => one.table === from && one.step === step);
  const column = lineage.sources[source]?.columns.indexOf(name) ?? -1;
  return column < 0 ? null : sourceSpot(source, column);
}
