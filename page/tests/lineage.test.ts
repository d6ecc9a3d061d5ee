import { describe, expect, it } from "vitest";
import type { TableLineage, Use } from "../src/api/lineage_shapes";
import { sentenceOf, useLines } from "../src/lineage/sentences";
import { HEAD, laidOut, linesAt, paths, ROW } from "../src/lineage/layout";
import { addressOf, dependencies, markOf, narrowed, ROWS, spotIn, targetSpots } from "../src/lineage/uses";

const use = (source: number, column: number, kind = "IDENTITY", masking = false): Use => ({ source, column, kind, masking });
const about = { key: "t", step: "out", target: "PostgreSQL table sales.orders", table: "sales.orders" };

/** Two sources; `z` is a constant, `u` comes from a step that does not declare its columns. */
const SHOP: TableLineage = {
  ...about,
  sources: [
    { step: "orders", table: "shop.orders", columns: ["status", "id", "cents"] },
    { step: "people", table: "crm.people", columns: ["key", "email"] },
  ],
  uses: [[use(0, 1)], [use(0, 2, "TRANSFORMATION"), use(0, 1, "WINDOW")], [use(1, 1, "TRANSFORMATION", true)], [], [use(0, 2, "AGGREGATION")], [use(1, 0, "TRANSFORMATION"), use(1, 1, "TRANSFORMATION")], [use(0, 0, "FILTER"), use(1, 0, "JOIN")]],
  columns: [
    { name: "id", uses: 0, unknown: false },
    { name: "amount", uses: 1, unknown: false },
    { name: "hash", uses: 2, unknown: false },
    { name: "z", uses: 3, unknown: false },
    { name: "total", uses: 4, unknown: false },
    { name: "u", uses: 5, unknown: true },
  ],
  rows: 6,
};

/** A table of this many columns: each as it is, or each of all. */
function wide(number: number, unknown: boolean): TableLineage {
  const all = Array.from({ length: number }, (_, at) => at);
  const uses = unknown ? [all.map((at) => use(0, at, "TRANSFORMATION")), []] : [...all.map((at) => [use(0, at)]), []];
  return { ...about, sources: [{ step: "in", table: "facts", columns: all.map((at) => `c${at}`) }], uses, columns: all.map((at) => ({ name: `c${at}`, uses: unknown ? 0 : at, unknown })), rows: uses.length - 1 };
}

describe("the uses of a lineage", () => {
  it("give each column of the target the mark of its strongest use", () => {
    expect(targetSpots(SHOP).map((spot) => markOf(SHOP, spot))).toEqual(["decides", "same", "made", "masked", "none", "aggregated", "unknown"]);
  });
  it("are the same from both sides", () => {
    const pairs = (spots: string[]): string[] => spots.flatMap((spot) => dependencies(SHOP, spot).flatMap((one) => one.spots.map((other) => [spot, other].sort().join(" "))));
    const sources = SHOP.sources.flatMap((one, source) => one.columns.map((_, column) => `s${source}.${column}`));
    expect(pairs(sources).sort()).toEqual(pairs(targetSpots(SHOP)).sort());
    expect(pairs(sources).length).toBe(9);
  });
  it("can be said", () => {
    expect(sentenceOf(SHOP, "t1")).toBe("transformed: cents of shop.orders; decides (window): id of shop.orders");
    expect([sentenceOf(SHOP, ROWS), sentenceOf(SHOP, "t3")]).toEqual(["filter: status of shop.orders; join: key of crm.people", "of no column"]);
    expect(sentenceOf(SHOP, "s1.1")).toBe("used by hash: masked; u: unknown");
    expect(sentenceOf(wide(300, true), "t7")).toContain("c5 and 294 more of facts");
    expect(useLines(SHOP).map((one) => `${one.column} ${one.how}`)).toContain("z of no column");
  });
  it("are narrowed by the names of both sides", () => {
    const names = (text: string): string[] => narrowed(SHOP, text).columns.map((one) => one.name);
    expect([names("CENTS"), names("email"), names("nothing"), names(" ").length]).toEqual([["amount", "total"], ["hash"], [], 6]);
  });
  it("are named by the address, and found again", () => {
    for (const spot of [...targetSpots(SHOP), "s0.1", "s1.1"]) {
      const found = Object.entries(addressOf(SHOP, spot)).filter(([, value]) => value !== "");
      expect(spotIn(SHOP, new URLSearchParams(found))).toBe(spot);
    }
    expect(spotIn(SHOP, new URLSearchParams("column=gone"))).toBeNull();
    expect(spotIn(SHOP, new URLSearchParams("column=id&from=gone&step=orders"))).toBeNull();
  });
});

describe("the picture of a lineage", () => {
  it.each([240, 340, 800, 2000])("has its cards apart, and within a width of %i", (width) => {
    const found = laidOut(SHOP, width);
    expect(found.width).toBeLessThanOrEqual(width);
    expect(found.x2 - found.x1).toBeGreaterThanOrEqual(56);
    const ends = found.sources.map((box) => box.y + box.height);
    expect(found.sources.slice(1).every((box, at) => box.y > ends[at]!)).toBe(true);
    expect(Math.max(...ends, found.target.y + found.target.height)).toBeLessThanOrEqual(found.height);
    expect(Math.min(found.target.y, ...found.sources.map((box) => box.y))).toBeGreaterThanOrEqual(0);
  });
  it("has columns that go on as they are on straight lines", () => {
    const found = laidOut(wide(300, false), 900);
    expect(found.lines.length).toBe(300);
    expect(found.lines.filter((line) => line.y1 !== line.y2)).toEqual([]);
  });
  it("has each line at the rows of its columns", () => {
    const found = laidOut(SHOP, 900);
    const heights = new Map([found.target, ...found.sources].flatMap((box) => box.spots.map((spot) => [spot.id, box.y + spot.y + ROW / 2] as const)));
    for (const line of found.lines) {
      expect(line.y2).toBe(heights.get(line.to));
      if (line.column >= 0) expect(line.y1).toBe(heights.get(`s${line.source}.${line.column}`));
    }
    expect(found.lines.filter((line) => line.look === "unknown").map((line) => [line.source, line.column])).toEqual([[1, -1]]);
    expect(found.lines.length).toBe(8);
  });
  it("has one line for many that are alike, and those of a column that is pointed at", () => {
    const found = laidOut(wide(300, true), 900);
    expect([found.lines.length, found.drawn.length, found.drawn[0]!.y2]).toEqual([300, 1, found.target.y + HEAD / 2]);
    expect(linesAt(found, "t7", new Set()).map((line) => line.to)).toEqual(["t7"]);
    expect(linesAt(found, "s0.3", new Set(targetSpots(wide(300, true)))).length).toBe(300);
  });
  it("leaves out a source without a line, and draws only lines that pass the view", () => {
    const found = laidOut(narrowed(wide(300, false), "c29"), 900);
    expect([found.target.y, found.height]).toEqual([0, found.target.height]);
    expect(found.sources[0]!.spots.map((spot) => spot.name)).toEqual(found.target.spots.map((spot) => spot.name));
    expect(laidOut({ ...SHOP, columns: SHOP.columns.slice(0, 1), rows: 3 }, 900).sources.map((box) => box.title)).toEqual(["shop.orders"]);
    const all = laidOut(wide(300, false), 900);
    expect(paths(all, all.lines, 1000, 1240).map(([look, path]) => [look, path.split("M").length - 1])).toEqual([["same", 10]]);
  });
  it("is quick with ten thousand columns", () => {
    const before = process.cpuUsage();
    laidOut(wide(10_000, false), 900);
    laidOut(wide(1_000, true), 900);
    const { user } = process.cpuUsage(before); // other work of the machine does not count
    expect(user / 1000).toBeLessThan(1000);
  });
});
