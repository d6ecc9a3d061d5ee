// The text that a new job file begins with. Pure.

import type { PluginDetail } from "../api/shapes";

const SOURCE = `  FakeSource {
    row.num = 10
    schema { table = "shop.orders", fields { id = bigint, name = string } }
  }`;
const SINK = "  Console {}";

/** A step with its required options, to be filled in. */
function step(plugin: PluginDetail): string {
  const required = plugin.options.filter((one) => one.required);
  const lines = required.map((one) => `    ${one.key} = ${valueOf(one.type, one.choices)}  # ${one.doc.replace(/\s+/g, " ")}`);
  return lines.length > 0 ? `  ${plugin.name} {\n${lines.join("\n")}\n  }` : `  ${plugin.name} {}`;
}

function valueOf(type: string, choices: readonly string[]): string {
  if (choices[0] !== undefined) return choices[0];
  if (type.startsWith("list")) return "[]";
  if (/^(map|object)/.test(type)) return "{}";
  if (type === "bool") return "true";
  return /^(int|float)/.test(type) ? "1" : '""';
}

/** A job file that can be run, or one with a step of this plugin. */
export function template(plugin: PluginDetail | null): string {
  const of = (kind: string, other: string): string => (plugin?.kind === kind ? step(plugin) : other);
  const transform = plugin?.kind === "transform" ? `transform {\n${step(plugin)}\n}\n\n` : "";
  return `env {\n  job.name = "new job"\n  job.mode = BATCH\n}\n\nsource {\n${of("source", SOURCE)}\n}\n\n${transform}sink {\n${of("sink", SINK)}\n}\n`;
}
