import { describe, expect, it } from "vitest";
import { difference } from "../src/edit/difference";

const lines = (before: string, after: string): string[] => difference(before, after, ["saved", "here"]).slice(2);
const applied = (before: string, found: readonly string[]): string => {
  // Texts of at most seven lines have one part, which holds them whole.
  const kept = found.filter((line) => !line.startsWith("@@") && !line.startsWith("-"));
  return found.length === 0 ? before : kept.map((line) => line.slice(1)).join("\n");
};

describe("the difference of two texts", () => {
  it("is that of diff -u", () => {
    expect(difference("a\nb\nc", "a\nx\nc", ["saved", "here"])).toEqual(["--- saved", "+++ here", "@@ -1 +1 @@", " a", "-b", "+x", " c"]);
    expect(lines("a\nb", "a\nb")).toEqual([]);
  });
  it("has parts with three lines round them", () => {
    const before = Array.from({ length: 40 }, (_, at) => `line ${at}`);
    const after = [...before.slice(0, 10), "new", ...before.slice(10, 30), ...before.slice(31)];
    const found = lines(before.join("\n"), after.join("\n"));
    expect(found.filter((line) => line.startsWith("@@"))).toEqual(["@@ -8 +8 @@", "@@ -28 +29 @@"]);
    expect(found.length).toBe(2 + 7 + 7);
  });
  it("makes the second text from the first one", () => {
    let seed = 7;
    const next = (most: number): number => (seed = (seed * 48271) % 2147483647) % most;
    for (let round = 0; round < 300; round += 1) {
      const text = (): string => Array.from({ length: 1 + next(4) }, () => "abc"[next(3)]).join("\n");
      const [before, after] = [text(), text()];
      expect(applied(before, lines(before, after))).toBe(after);
    }
  });
});
