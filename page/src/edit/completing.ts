// Completes names of plugins and options, and values of options, from the catalogue of the server.

import { type Completion, type CompletionContext, type CompletionResult, snippet } from "@codemirror/autocomplete";
import { ask } from "../api/client";
import type { PluginDetail, PluginList, PluginOption } from "../api/shapes";
import { outputs, type Place, placeAt } from "./hocon";

export interface Catalogue {
  list: () => Promise<PluginList>;
  plugin: (kind: string, name: string) => Promise<PluginDetail | null>;
}

/** Asks once for each answer; after a failure again. */
export function catalogueOf(read: <T>(path: string) => Promise<T>): Catalogue {
  const kept = new Map<string, Promise<unknown>>();
  const once = <T>(path: string): Promise<T> => {
    const known = kept.get(path) as Promise<T> | undefined;
    if (known) return known;
    const asked = read<T>(path);
    kept.set(path, asked);
    asked.catch(() => kept.delete(path));
    return asked;
  };
  const list = () => once<PluginList>("plugins");
  return {
    list,
    plugin: async (kind, name) => {
      const same = (await list()).plugins.find((one) => one.kind === kind && one.name.toLowerCase() === name.toLowerCase());
      return same ? once<PluginDetail>(`plugins/${kind}/${encodeURIComponent(same.name)}`) : null;
    },
  };
}

export const catalogue = catalogueOf(ask);

const BLOCKS: [string, string][] = [
  ["env", "settings of the job"],
  ["source", "where rows come from"],
  ["transform", "how rows are changed"],
  ["sink", "where rows go"],
];
const KINDS = ["source", "transform", "sink"];

/** The options that may stand in the block of a place; null: there are none to choose from. */
export async function optionsAt(place: Place, from: Catalogue): Promise<PluginOption[] | null> {
  const [block, plugin, ...inner] = place.path;
  if (block === "env") return below((await from.list()).env, place.path.slice(1));
  if (block === undefined || plugin === undefined || !KINDS.includes(block)) return null;
  const found = await from.plugin(block, plugin);
  return found && below(found.options, inner, found.schema);
}

interface Schema {
  properties?: Record<string, Schema>;
  items?: Schema;
  anyOf?: Schema[];
  additionalProperties?: Schema | boolean;
  $ref?: string;
  $defs?: Record<string, Schema>;
  description?: string;
  type?: string;
  enum?: unknown[];
  key?: string | null;
  required?: string[];
}

/** The options inside of a block of a plugin: by keys with dots, or by the schema of an object. */
function below(options: PluginOption[], path: string[], schema?: unknown): PluginOption[] {
  if (path.length === 0) return options;
  const begin = `${path.join(".")}.`;
  const dotted = options.filter((one) => one.key.startsWith(begin)).map((one) => ({ ...one, key: one.key.slice(begin.length) }));
  return [...dotted, ...(schema ? ofSchema(schema as Schema, path) : [])];
}

function ofSchema(whole: Schema, path: string[]): PluginOption[] {
  let current: Schema | undefined = whole;
  for (const key of path.flatMap((one) => one.split("."))) {
    current = current && objectOf(current, whole);
    const at: [string, Schema] | undefined = Object.entries(current?.properties ?? {}).find(([name, one]) => (one.key ?? name) === key);
    current = at?.[1];
  }
  const found = current && objectOf(current, whole);
  return Object.entries(found?.properties ?? {}).map(([name, one]) => ({
    key: one.key ?? name,
    fallback: [],
    type: one.type ?? "",
    default: "",
    required: found?.required?.includes(name) ?? false,
    secret: false,
    doc: one.description ?? "",
    choices: (one.enum ?? []).map(String),
  }));
}

/** The schema with properties that another one stands for: by reference, as the entry of a list, or as one of several. */
function objectOf(one: Schema, whole: Schema): Schema | undefined {
  if (one.properties) return one;
  if (one.$ref) {
    const named = whole.$defs?.[one.$ref.split("/").pop() ?? ""];
    return named && objectOf(named, whole);
  }
  if (one.items) return objectOf(one.items, whole);
  for (const each of one.anyOf ?? []) {
    const found = objectOf(each, whole);
    if (found) return found;
  }
  return undefined;
}

const aboutOf = (one: PluginOption): string => [one.doc, one.default ? `default: ${one.default}` : "", one.fallback.length > 0 ? `also: ${one.fallback.join(", ")}` : ""].filter(Boolean).join("; ");

/** A block with the cursor inside of it. */
const opened = (name: string) => snippet(`${name} {\n\t\${}\n}`);

function ofOption(one: PluginOption): Completion {
  const block = /^(object|map)/.test(one.type);
  return { label: one.key, detail: one.required ? `${one.type}, required` : one.type, info: aboutOf(one), apply: block ? snippet(`${one.key} { \${} }`) : `${one.key} = `, type: "property", boost: one.required ? 1 : 0 };
}

/** What may stand at a place. */
export async function completionsAt(place: Place, text: string, from: Catalogue): Promise<Completion[]> {
  const { path, key } = place;
  if (path.length === 0) return key === null ? BLOCKS.map(([label, detail]) => ({ label, detail, apply: opened(label), type: "keyword" })) : [];
  if (path.length === 1 && path[0] !== "env" && key === null) {
    const found = (await from.list()).plugins.filter((one) => one.kind === path[0]);
    return found.map((one) => ({ label: one.name, info: one.summary, apply: opened(one.name), type: "class" }));
  }
  const options = await optionsAt(place, from);
  if (options === null) return [];
  if (key === null) return options.map(ofOption);
  const option = options.find((one) => one.key === key || one.fallback.includes(key));
  if (option === undefined) return [];
  if (option.key === "plugin_input") return outputs(text).map((label) => ({ label, type: "variable" }));
  if (option.secret) return [{ label: "${env:NAME}", detail: "a variable of the server" }, { label: "${file:NAME}", detail: "a file in SEATUNNEL_SECRETS_DIR" }];
  const values = option.choices.length > 0 ? option.choices : option.type === "bool" ? ["true", "false"] : [];
  return values.map((label) => ({ label, detail: label === option.default ? "default" : undefined, type: "constant" }));
}

/** The source of completions of the editor. */
export async function complete(context: CompletionContext): Promise<CompletionResult | null> {
  const place = placeAt(context.state.sliceDoc(0, context.pos));
  if (place === null || (place.from === context.pos && !context.explicit)) return null;
  const options = await completionsAt(place, context.state.doc.toString(), catalogue);
  return options.length === 0 ? null : { from: place.from, options, validFor: /^[\w.-]*$/ };
}

/** What is known about the name at a place: of a plugin, or of an option. */
export async function aboutName(place: Place, name: string, from: Catalogue): Promise<{ title: string; text: string } | null> {
  if (place.key !== null) return null;
  if (place.path.length === 1 && KINDS.includes(place.path[0] ?? "")) {
    const found = await from.plugin(place.path[0] ?? "", name);
    return found && { title: `${found.name}, ${found.kind}`, text: found.summary };
  }
  const option = (await optionsAt(place, from))?.find((one) => one.key === name || one.fallback.includes(name));
  return option ? { title: `${option.key}: ${option.type}${option.required ? ", required" : ""}`, text: aboutOf(option) } : null;
}
