import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const files = readdirSync("src", { recursive: true, encoding: "utf8" }).filter((one) => /\.(tsx?|css)$/.test(one));
const text = (file: string): string => readFileSync(join("src", file), "utf8");

describe("the sources", () => {
  it("make text nodes only: nothing reads a text as HTML or as a script", () => {
    const banned = /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|srcdoc/;
    expect(files.length).toBeGreaterThan(20);
    expect(files.filter((file) => banned.test(text(file)))).toEqual([]);
  });
  it("name no other server", () => {
    const named = files.filter((file) => /https?:\/\/(?!www\.w3\.org\/)|url\((?!#)/.test(text(file)));
    expect(named).toEqual([]);
  });
  it("keep nothing of a login in the browser", () => {
    const storing = files.filter((file) => /localStorage|sessionStorage|document\.cookie|indexedDB/.test(text(file)));
    expect(storing).toEqual([join("state", "choices.ts")]);
  });
});

describe("the lock file", () => {
  const lock = JSON.parse(readFileSync("package-lock.json", "utf8")) as { packages: Record<string, { resolved?: string; integrity?: string }> };
  const packages = Object.entries(lock.packages).filter(([name]) => name !== "");
  it("pins each package by its hash, and names no index", () => {
    expect(packages.filter(([, one]) => one.resolved !== undefined || one.integrity === undefined)).toEqual([]);
  });
  it("has at most eight packages that the page is built from", () => {
    const wanted = JSON.parse(readFileSync("package.json", "utf8")) as { dependencies: Record<string, string> };
    expect(Object.keys(wanted.dependencies).length).toBeLessThanOrEqual(8);
  });
});
