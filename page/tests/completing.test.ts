import { beforeAll, describe, expect, it, vi } from "vitest";
import type { PluginDetail, PluginOption } from "../src/api/shapes";
import type { Catalogue, catalogueOf as CatalogueOf, completionsAt as CompletionsAt, aboutName as AboutName } from "../src/edit/completing";
import { placeAt } from "../src/edit/hocon";
import { template } from "../src/edit/template";

const option = (key: string, more: Partial<PluginOption> = {}): PluginOption => ({ key, fallback: [], type: "string", default: "", required: false, secret: false, doc: `about ${key}`, choices: [], ...more });
const JDBC: PluginDetail = {
  kind: "source",
  name: "Jdbc",
  distribution: "d",
  summary: "reads tables",
  options: [option("url", { required: true }), option("password", { secret: true }), option("use_regex", { type: "bool", default: "false" }), option("kind", { choices: ["table", "view"] }), option("schema", { type: "object" }), option("split.size"), option("plugin_input")],
  schema: { properties: { schema: { $ref: "#/$defs/S" } }, $defs: { S: { properties: { fields: { description: "columns" }, primary_key: { key: "primaryKey" } } } } },
};
const asked: string[] = [];
let from: Catalogue;
let completionsAt: typeof CompletionsAt;
let aboutName: typeof AboutName;
let catalogueOf: typeof CatalogueOf;

beforeAll(async () => {
  // The client of the server looks for the login of a page.
  vi.stubGlobal("window", globalThis);
  ({ completionsAt, aboutName, catalogueOf } = await import("../src/edit/completing"));
  from = catalogueOf(<T>(path: string) => {
    asked.push(path);
    const list = { plugins: [{ kind: "source", name: "Jdbc", distribution: "d", summary: "s" }, { kind: "sink", name: "Console", distribution: "d", summary: "" }], env: [option("job.name"), option("job.mode", { choices: ["BATCH"] })] };
    return Promise.resolve((path === "plugins" ? list : JDBC) as T);
  });
});

const labels = async (text: string): Promise<string[]> => {
  const place = placeAt(text);
  return place === null ? [] : (await completionsAt(place, `plugin_output = one\n${text}`, from)).map((one) => one.label);
};

describe("completion", () => {
  it.each([
    ["so", ["env", "source", "transform", "sink"]],
    ["env { job.n", ["job.name", "job.mode"]],
    ["env { job { n", ["name", "mode"]],
    ["env { job.mode = B", ["BATCH"]],
    ["source { J", ["Jdbc"]],
    ["sink { C", ["Console"]],
    ["source { jdbc { u", ["url", "password", "use_regex", "kind", "schema", "split.size", "plugin_input"]],
    ["source { Jdbc { split { s", ["size"]],
    ["source { Jdbc { schema { f", ["fields", "primaryKey"]],
    ["source { Jdbc { use_regex = t", ["true", "false"]],
    ["source { Jdbc { kind = [t", ["table", "view"]],
    ["source { Jdbc { password = ", ["${env:NAME}", "${file:NAME}"]],
    ["source { Jdbc { plugin_input = ", ["one"]],
    ["source { Unknown { u", []],
    ["other { x", []],
  ])("after %j", async (text, expected) => {
    expect(await labels(text)).toEqual(expected);
  });
  it("asks the server once for each answer", async () => {
    await labels("source { Jdbc { u");
    expect(asked).toEqual(["plugins", "plugins/source/Jdbc"]);
  });
  it("asks again after a failure", async () => {
    let tries = 0;
    const failing = catalogueOf(<T>() => (tries++ === 0 ? Promise.reject(new Error("away")) : Promise.resolve({ plugins: [], env: [] } as T)));
    await expect(failing.list()).rejects.toThrow("away");
    expect(await failing.list()).toEqual({ plugins: [], env: [] });
  });
  it("explains a name", async () => {
    expect(await aboutName(placeAt("source { ")!, "Jdbc", from)).toEqual({ title: "Jdbc, source", text: "reads tables" });
    expect(await aboutName(placeAt("source { Jdbc { ")!, "url", from)).toEqual({ title: "url: string, required", text: "about url" });
    expect(await aboutName(placeAt("source { Jdbc { url = ")!, "url", from)).toBeNull();
  });
});

describe("the first text", () => {
  it("has the required options of a plugin", () => {
    expect(template(JDBC)).toContain('  Jdbc {\n    url = ""  # about url\n  }');
    expect(template({ ...JDBC, kind: "transform" })).toContain("transform {\n  Jdbc {");
    expect(template(null)).toContain("FakeSource");
  });
});
