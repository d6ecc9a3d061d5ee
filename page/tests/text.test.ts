import { describe, expect, it } from "vitest";
import type { RunRow } from "../src/api/shapes";
import { namedIn } from "../src/text/errors";
import { age, brief, bytes, clock, count, cut, duration, offset, plainName, when, whenExactly } from "../src/text/format";
import { sameCounts, standing, tally } from "../src/text/sentences";
import { filterOf, lookOf, RUN_ORDER, TABLE_ORDER, toggled } from "../src/text/states";

const run = (more: Partial<RunRow>): RunRow => ({ job_id: "j", job_name: "n", job_file: "f", started: 1000, state: "SUCCESS", seconds: 60, rows_read: 1, rows_read_this_run: 1, tables: { DONE: 2 }, exit_code: 0, fault: "", ...more });

describe("numbers and times", () => {
  it.each([[0.024, "24 ms"], [3.04, "3.0 s"], [59.6, "1 min"], [61, "1 min 1 s"], [3600, "1 h"], [90_061, "1 d 1 h"], [null, "–"], [Infinity, "–"]])("duration %s", (given, text) => {
    expect(duration(given)).toBe(text);
  });
  it.each([[-5, "0 s"], [59.9, "59 s"], [3599, "59 min"], [86_399, "23 h"], [200_000, "2 d"]])("age %s", (given, text) => {
    expect(age(given)).toBe(text);
  });
  it("counts and sizes", () => {
    expect([count(1_234_567), count(null), brief(9_999), brief(45_100_000), bytes(1023), bytes(1536), bytes(null)]).toEqual(["1,234,567", "–", "9,999", "45.1M", "1023 B", "1.5 KiB", "–"]);
  });
});

describe("times (A28)", () => {
  const winter = Date.UTC(2026, 10, 1, 6, 30) / 1000; // 01:30 in New York, an hour after the first 01:30 of that night
  it("are in UTC if that is chosen, whatever the zone of the machine", () => {
    expect([when(winter, "UTC"), clock(winter, "UTC"), offset(winter, "UTC")]).toEqual(["2026-11-01 06:30:00", "06:30:00", "UTC"]);
    expect(whenExactly(Date.UTC(2026, 0, 1) / 1000, "UTC")).toBe("2026-01-01 00:00:00 UTC");
  });
  it("are else in the zone of the machine, with its offset at that time", () => {
    const there = new Date(winter * 1000);
    const two = (number: number) => String(number).padStart(2, "0");
    expect(clock(winter, "browser")).toBe([there.getHours(), there.getMinutes(), there.getSeconds()].map(two).join(":"));
    expect(whenExactly(winter, "browser")).toMatch(/^2026-1\d-\d\d \d\d:30:00 GMT/);
  });
});

describe("names from outside", () => {
  it("are cut in the middle, by characters and not by halves of them", () => {
    expect(cut("abcdefghij", 5)).toBe("ab…ij");
    expect(cut("😀😀😀😀😀😀", 5)).toBe("😀😀…😀😀");
    expect(cut("short", 5)).toBe("short");
  });
  it("lose their power over the text around them", () => {
    expect(plainName("a\u202eb\u001b[31m\u0000\u009b")).toBe("a\ufffdb␛[31m␀\ufffd");
  });
});

describe("the fields that an error is about", () => {
  it.each([
    ["Field 'name' is too long; row {id, name}", ["name"]],
    ["value too long for column name", ["name"]],
    ["a name.id of id and name", []],
    ["nothing", []],
  ])("%s", (error, fields) => {
    expect(namedIn(error, ["id", "name"])).toEqual(fields);
  });
});

describe("a filter of tables", () => {
  it("has states and a text", () => {
    expect(filterOf(" state:isolated  orders STATE:failed ")).toEqual({ states: ["ISOLATED", "FAILED"], text: "orders" });
    expect(filterOf("state: x")).toEqual({ states: [], text: "x" });
  });
  it("gets a state, and loses it again", () => {
    expect(toggled("orders", "FAILED")).toBe("state:failed orders");
    expect(toggled("state:failed orders", "FAILED")).toBe("orders");
  });
});

describe("how a run stands", () => {
  it("compares counts", () => {
    expect([sameCounts({ A: 1, B: 0 }, { A: 1 }), sameCounts({ A: 1 }, { A: 1, B: 2 }), sameCounts({}, {})]).toEqual([true, false, true]);
  });
  it("counts tables", () => {
    expect(tally({ DONE: 5, FAILED: 1, ISOLATED: 2 })).toEqual({ all: 8, bad: 3, done: 5 });
    expect(tally(null)).toEqual({ all: 0, bad: 0, done: 0 });
  });
  it.each([
    [run({}), "Succeeded 40 s ago, after 1 min. All 2 tables are done.", ""],
    [run({ tables: { DONE: 1 } }), "Succeeded 40 s ago, after 1 min. Its table is done.", ""],
    [run({ state: "SOME_TABLES_FAILED", tables: { DONE: 988, ISOLATED: 12 } }), "Ended 40 s ago: 12 of 1,000 tables failed. The others are complete.", "Mend the causes, then restore: only these tables go on"],
    [run({ state: "RUNNING", seconds: null, tables: { RUNNING: 3, DONE: 1 } }), "Running for 1 min 40 s. 1 of 4 tables is done; none has failed.", ""],
    [run({ state: "RUNNING", seconds: null, tables: { RUNNING: 1 } }), "Running for 1 min 40 s. Its table is at work; none has failed.", ""],
    [run({ state: "RUNNING", seconds: null, tables: null }), "Running for 1 min 40 s. No table has begun yet.", ""],
    [run({ state: "KILLED", seconds: null }), "Killed: the driver ended without a receipt.", "Restore: it goes on from its newest checkpoint"],
    [run({ state: "UNREADABLE", fault: "half a file" }), "half a file", "Mend or remove the directory"],
  ])("%#", (given, is, next) => {
    expect(standing(given, 1100)).toEqual({ is, next });
  });
  it("has a look of its own for every state", () => {
    for (const state of [...RUN_ORDER, ...TABLE_ORDER]) expect(lookOf(state).word).not.toBe("");
    expect(lookOf("A_LATER_STATE").word).toBe("a later state");
  });
});
