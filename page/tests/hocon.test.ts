import { describe, expect, it } from "vitest";
import { outputs, pieces, placeAt, replacedBy, spanAt, written } from "../src/edit/hocon";

const looks = (line: string, open = false) => pieces(line, open).pieces.map((one) => [line.slice(one.from, one.to), one.look]);

describe("the colours of a line", () => {
  it("differ for keys and values, texts and comments", () => {
    expect(looks('  url = "jdbc:x#y" # why')).toEqual([["url", "key"], ["=", "mark"], ['"jdbc:x#y"', "string"], ["# why", "comment"]]);
    expect(looks("row.num = 10, id += ${x} // y")).toEqual([["row.num", "key"], ["=", "mark"], ["10", "number"], [",", "mark"], ["id", "key"], ["+=", "mark"], ["${x}", "variable"], ["// y", "comment"]]);
    expect(looks("Jdbc {")).toEqual([["Jdbc", "key"], ["{", "mark"]]);
  });
  it("go on over the lines of a text in three quotes", () => {
    expect(pieces('query = """select', false).open).toBe(true);
    expect(looks("from # t", true)).toEqual([["from # t", "string"]]);
    const last = pieces('where x""", id = 1', true);
    expect(last.open).toBe(false);
    expect(last.pieces.map((one) => one.look)).toEqual(["string", "mark", "key", "mark", "number"]);
    expect(pieces('a = """x""", b = """', false).open).toBe(true);
  });
  it("end on any text, and cover no place twice", () => {
    for (const line of ['"', '\\', "${", "]]}}", '"a\\', "é=😀", "+", '""""""', "a = = b"]) {
      let end = 0;
      for (const one of pieces(line, false).pieces) {
        expect(one.from).toBeGreaterThanOrEqual(end);
        expect(one.to).toBeGreaterThan(one.from);
        end = one.to;
      }
      expect(end).toBeLessThanOrEqual(line.length);
    }
  });
});

describe("the place of the cursor", () => {
  it.each([
    ["", [], null, 0],
    ["sou", [], null, 0],
    ["source { Jd", ["source"], null, 9],
    ["source { Jdbc { ur", ["source", "Jdbc"], null, 16],
    ["source { Jdbc { url = x, ", ["source", "Jdbc"], null, 25],
    ["source { Jdbc { url = x }\n } si", [], null, 29],
    ["env { job.mode = BA", ["env"], "job.mode", 17],
    ["env { job { mo", ["env", "job"], null, 12],
    ['sink { F { format = "pa', ["sink", "F"], "format", 21],
    ['sink { F { plugin_input = ["a", b', ["sink", "F"], "plugin_input", 32],
    ["sink { F { t = [ { na", ["sink", "F", "t"], null, 19],
    ["sink { F { t = [ {a = 1}, { na", ["sink", "F", "t"], null, 28],
    ["# env {\nso", [], null, 8],
    ['a = """ { """\nso', [], null, 14],
  ])("%j", (text, path, key, from) => {
    expect(placeAt(text)).toEqual({ path, key, from, quoted: text.includes('"pa') });
  });
  it("is none where no name begins", () => {
    for (const text of ["# so", "a = 1 // x", 'a = """ so', "source Jd", "a = ${x"]) expect(placeAt(text)).toBeNull();
  });
});

describe("a problem", () => {
  it("is at a word or a text, by characters and not by halves of them", () => {
    expect(spanAt("  Jdbc { urll = x }", 10)).toEqual({ from: 9, to: 13, quoted: false });
    expect(spanAt('a = "x y"', 5)).toEqual({ from: 4, to: 9, quoted: true });
    expect(spanAt("a = 😀, bb = 1", 8)).toEqual({ from: 8, to: 10, quoted: false });
    expect(spanAt("short", 99)).toEqual({ from: 5, to: 5, quoted: false });
  });
  it("is mended by a name that is written as a job file needs it", () => {
    expect([written("job.mode", false), written("parquet", true), written("a b", false)]).toEqual(["job.mode", '"parquet"', '"a b"']);
  });
  it("is mended at the word that the nearest name stands for", () => {
    const mended = (line: string, column: number, name: string): string | null => {
      const span = replacedBy(line, column, name);
      return span && line.slice(0, span.from) + written(name, span.quoted) + line.slice(span.to);
    };
    expect(mended("F { file_format_type = parquett }", 5, "parquet")).toBe("F { file_format_type = parquet }");
    expect(mended('F { file_format_type = "parquett" }', 5, "parquet")).toBe('F { file_format_type = "parquet" }');
    expect(mended('F { plugin_inpt = "x" }', 5, "plugin_input")).toBe('F { plugin_input = "x" }');
    expect(mended("mode = mod", 1, "mode")).toBe("mode = mode");
    expect(mended("env { mode = BATCH }", 7, "job.mode")).toBe("env { job.mode = BATCH }");
    expect(mended('query = "select a from orderz"', 9, "orders")).toBeNull();
  });
  it("knows the data sets of a text", () => {
    expect(outputs('a { plugin_output = "x" }\nb { result_table_name: y_1 }')).toEqual(["x", "y_1"]);
  });
});
