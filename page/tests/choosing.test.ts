import { describe, expect, it } from "vitest";
import { bareName, chosenWith, isReference, matching, optionsOf } from "../src/discover/choosing";

const tables = ["db.public.shop_1", "db.public.shop_2", "db.shop_x.other", 'db.public."Odd.shop_3"', 'db.public."a""b"'].map((table) => ({ table }));
const names = (filter: string): string[] => matching(tables, filter).map((one) => one.table);

describe("the filter of tables", () => {
  it("takes a word with a star as the pattern of a whole name", () => {
    expect(names("shop_*")).toEqual(["db.public.shop_1", "db.public.shop_2"]);
    expect(names("db.shop_*")).toEqual(["db.shop_x.other"]);
    expect(names("*shop_*")).toHaveLength(4);
    expect(names("*_1*1")).toEqual([]);
    expect(names("SHOP_*1")).toEqual(["db.public.shop_1"]);
  });
  it("takes another word as a part, and all words at once", () => {
    expect(names("shop")).toHaveLength(4);
    expect(names("shop _2")).toEqual(["db.public.shop_2"]);
    expect(names("")).toHaveLength(5);
  });
  it("takes a word after ! for those that do not match", () => {
    expect(names("!shop_*")).toEqual(["db.shop_x.other", 'db.public."Odd.shop_3"', 'db.public."a""b"']);
    expect(names("!")).toEqual([]);
  });
  it("takes no more time for many stars", () => {
    const long = [{ table: "a".repeat(20_000) }];
    const began = performance.now();
    expect(matching(long, `${"*a".repeat(40)}*b`)).toEqual([]);
    expect(performance.now() - began).toBeLessThan(500);
  });
});

describe("the last part of a name", () => {
  it("loses the quotes that protect it", () => {
    expect(tables.map((one) => bareName(one.table))).toEqual(["shop_1", "shop_2", "other", "Odd.shop_3", 'a"b']);
  });
});

describe("the chosen tables", () => {
  it("are never those that cannot be read", () => {
    const some = [{ table: "a" }, { table: "b", problem: "no key" }];
    expect([...chosenWith(new Set(), some, true)]).toEqual(["a"]);
    expect([...chosenWith(new Set(["a", "c"]), some, false)]).toEqual(["c"]);
  });
});

describe("a connection", () => {
  it("has references, and no passwords", () => {
    expect(["${env:A}", "${file:a.txt}"].every(isReference)).toBe(true);
    expect(["secret", "${env:A}x", "x${env:A}", "${name}", "", "${env:}"].some(isReference)).toBe(false);
  });
  it("takes further options line by line", () => {
    expect(optionsOf("a=1\n\nnone\n b.c = x=y \n=z")).toEqual({ a: "1", "b.c": "x=y" });
  });
});
