import { describe, expect, it } from "vitest";
import { EventReader, pause } from "../src/api/events";
import { before, found, joined, linesOf, NOTHING } from "../src/job/log_windows";
import { movedBy, pagesOf, scrolledTo, visible } from "../src/parts/windows";

describe("a window of a list", () => {
  it("is what the view shows, and some rows more", () => {
    expect(visible(0, 560, 28, 10_000)).toEqual({ first: 0, end: 30 });
    expect(visible(28 * 500, 560, 28, 10_000)).toEqual({ first: 490, end: 530 });
    expect(visible(28 * 10_000, 560, 28, 10_000)).toEqual({ first: 9990, end: 10_000 });
    expect(visible(5000, 560, 28, 3)).toEqual({ first: 3, end: 3 });
  });
  it("needs the pages that hold its rows, and no other", () => {
    expect(pagesOf({ first: 0, end: 30 }, 100)).toEqual([0]);
    expect(pagesOf({ first: 95, end: 201 }, 100)).toEqual([0, 1, 2]);
    expect(pagesOf({ first: 100, end: 200 }, 100)).toEqual([1]);
    expect(pagesOf({ first: 3, end: 3 }, 100)).toEqual([]);
  });
  it("follows the chosen row", () => {
    expect([scrolledTo(0, 100, 560, 28), scrolledTo(30, 0, 560, 28), scrolledTo(5, 0, 560, 28)]).toEqual([0, 308, 0]);
  });
  it("moves by keys, and never off the list", () => {
    expect([movedBy("j", 0, 3, 2), movedBy("k", 0, 3, 2), movedBy("End", 0, 3, 2), movedBy("PageDown", 0, 100, 20), movedBy("x", 0, 3, 2), movedBy("j", -1, 0, 2)]).toEqual([1, 0, 2, 20, null, null]);
  });
});

describe("windows of a log (A22)", () => {
  const part = (from: string, number: number) => ({ lines: Array.from({ length: number }, (_, at) => `${from} ${at}`), next: `${from}!`, end: true, from, generations: [] });
  const kept = [{ from: "1.a:0", bytes: 200_000 }, { from: "2.b:0", bytes: 10 }];
  it("keep a bounded number of lines, and know where the first one is", () => {
    let log = NOTHING;
    for (let at = 0; at < 40; at += 1) log = joined(log, part(`1.a:${at}`, 300));
    expect(linesOf(log).length).toBeLessThanOrEqual(5000);
    expect([log.parts[0]?.from, log.cut, log.next]).toEqual(["1.a:24", true, "1.a:39!"]);
    expect(linesOf(joined(log, part("1.a:99", 3), false))).toEqual(["1.a:99 0", "1.a:99 1", "1.a:99 2"]);
    expect(linesOf(joined(log, part("1.a:99", 0)))).toEqual(linesOf(log));
  });
  it("have one before them, over the end of a file", () => {
    expect(before("2.b:0", kept)).toEqual({ is: "from", position: "1.a:134464", bytes: 65_536, cuts: true });
    expect(before("1.a:100", kept)).toEqual({ is: "from", position: "1.a:0", bytes: 100, cuts: false });
    expect([before("1.a:0", kept), before("9.z:5", kept), before(undefined, kept)]).toEqual([null, null, null]);
  });
  it("are searched without regard to capitals", () => {
    expect([found(["An Error", "fine", "error"], "ERROR"), found(["a"], "")]).toEqual([[0, 2], []]);
  });
});

describe("a stream of events", () => {
  it("is read from pieces of any size", () => {
    const text = 'retry: 2000\n\nevent: runs\nid: a-1\ndata: {"a":1}\n\n: ping\n\nevent: run:x\ndata: {"b":\ndata: 2}\n\n';
    for (let size = 1; size < text.length; size += 7) {
      const reader = new EventReader();
      const found = [];
      for (let at = 0; at < text.length; at += size) found.push(...reader.take(text.slice(at, at + size)));
      expect(found).toEqual([
        { name: "runs", id: "a-1", data: '{"a":1}' },
        { name: "run:x", id: "", data: '{"b":\n2}' },
      ]);
    }
  });
  it("is opened again after a pause that grows, has a bound, and differs between tabs", () => {
    expect(pause(1, 0)).toBeCloseTo(0.75);
    expect(pause(50, 1)).toBe(4);
    const tabs = Array.from({ length: 50 }, (_, at) => pause(1, at / 49));
    expect(Math.max(...tabs) - Math.min(...tabs)).toBeGreaterThan(0.7);
  });
});
