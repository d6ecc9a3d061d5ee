// The lineage of a table in words. Pure.

import type { TableLineage } from "../api/lineage_shapes";
import { count, plainName } from "../text/format";
import { type Dependency, dependencies, isUnknown, type Mark, markOf, nameOf, ROWS, sourceOf, targetSpots } from "./uses";

/** Names of one sentence, and of one line: a cell shows fewer. */
const SAID = 6;
const LISTED = 40;

/** The first names, and how many there are more. */
export function namesOf(lineage: TableLineage, spots: readonly string[], most: number): { names: [spot: string, name: string][]; more: number } {
  return { names: spots.slice(0, most).map((spot) => [spot, nameOf(lineage, spot)]), more: Math.max(0, spots.length - most) };
}

/** How one side depends on the other: "transformed", "decides which rows (join)". */
export function howOf(one: Dependency, toRows: boolean): string {
  if (one.look === "decides") return toRows ? one.how : `decides (${one.how})`;
  return one.how;
}

/** All that a spot depends on, or that depends on it, after its name. */
export function sentenceOf(lineage: TableLineage, spot: string): string {
  const isSource = sourceOf(spot) !== null;
  const parts = dependencies(lineage, spot).map((one) => {
    const { names, more } = namesOf(lineage, one.spots, SAID);
    const said = `${names.map(([, name]) => name).join(", ")}${more > 0 ? ` and ${count(more)} more` : ""}`;
    return isSource ? `${said}: ${howOf(one, one.spots[0] === ROWS)}` : `${howOf(one, spot === ROWS)}: ${said} of ${lineage.sources[one.source]?.table ?? ""}`;
  });
  return plainName(parts.length === 0 ? "of no column" : `${isSource ? "used by " : ""}${parts.join("; ")}`);
}

/** What stands between the name of a spot of the target and those of its uses. */
export function introOf(lineage: TableLineage, spot: string, number: number): string {
  if (number === 0) return "is made of no source column.";
  if (spot === ROWS) return "is decided by";
  return isUnknown(lineage, spot) ? "comes from a step that does not declare its columns; perhaps it is made of" : "is made of";
}

export interface UseLine {
  spot: string;
  column: string;
  mark: Mark;
  how: string;
  names: string;
  table: string;
  step: string;
}

/** A line for each column of the target, source and kind of use. */
export function useLines(lineage: TableLineage): UseLine[] {
  return targetSpots(lineage).flatMap((spot) => {
    const column = nameOf(lineage, spot);
    const found = dependencies(lineage, spot);
    if (found.length === 0) return [{ spot, column, mark: markOf(lineage, spot), how: "of no column", names: "", table: "", step: "" }];
    return found.map((one) => {
      const of = lineage.sources[one.source];
      const names = one.spots.slice(0, LISTED).map((other) => nameOf(lineage, other)).join(", ");
      const more = one.spots.length > LISTED ? ` and ${one.spots.length - LISTED} more` : "";
      return { spot, column, mark: one.mark, how: howOf(one, spot === ROWS), names: names + more, table: of?.table ?? "", step: of?.step ?? "" };
    });
  });
}

