// The catalogue: the installed plugins by kind, and the options of one of them.

import "../style/catalogue.css";

import { useEffect } from "preact/hooks";
import type { PluginDetail, PluginList, PluginOption, PluginRow } from "../api/shapes";
import { mayDo } from "../parts/acts";
import { FilterField } from "../parts/filter";
import { Name } from "../parts/marks";
import { Empty, Shown } from "../parts/views";
import { movedBy } from "../parts/windows";
import { type Answer, useAnswer, useNow } from "../state/asking";
import { go, linkToCatalogue, linkToEditor, query } from "../state/location";
import { counted, plainName } from "../text/format";

const KINDS = ["source", "transform", "sink"] as const;
/** The settings of the job itself, in the place of a plugin. */
const ENV = "env";

/** Whether each word of a filter is in one of these texts. Pure. */
export function matches(filter: string, ...texts: string[]): boolean {
  const all = texts.join(" ").toLowerCase();
  return filter.toLowerCase().split(/\s+/).every((word) => all.includes(word));
}

export function CataloguePage() {
  const asked = query.value;
  const [text, chosen, option] = [asked.get("q") ?? "", asked.get("plugin") ?? "", asked.get("option") ?? ""];
  const list = useAnswer<PluginList>("plugins");
  const own = chosen !== "" && chosen !== ENV;
  const detail = useAnswer<PluginDetail>(own ? `plugins/${chosen.split("/").map(encodeURIComponent).join("/")}` : null);
  useEffect(() => {
    document.title = `${chosen || "Catalogue"} · SeaTunnel`;
  }, [chosen]);
  const address = (plugin: string): string => linkToCatalogue({ ...(text ? { q: text } : {}), plugin });
  return (
    <>
      <div class="title-row">
        <h1>Catalogue</h1>
        <p class="lead">{list.data ? `${counted(list.data.plugins.length, "plugin")} installed here.` : ""}</p>
        <FilterField text={text} hint="Filter plugins" label="filter plugins by name or meaning" pause={120} />
      </div>
      <div class="catalogue">
        <section class="card" aria-label="plugins">
          <Shown of={list} rows={10}>
            {(data) => <Plugins rows={data.plugins.filter((one) => matches(text, one.kind, one.name, one.summary))} chosen={chosen} address={address} />}
          </Shown>
        </section>
        <section class="card" aria-label="options">
          {chosen === "" ? <Empty title="Choose a plugin to see its options." /> : null}
          {chosen === ENV && list.data ? <Options title="env" kind="settings of the job" summary="The keys of the env block. All keys that begin with spark. go to Spark as they are." options={list.data.env} filter={option} /> : null}
          {own ? <Detail of={detail} filter={option} /> : null}
        </section>
      </div>
    </>
  );
}

function Plugins({ rows, chosen, address }: { rows: PluginRow[]; chosen: string; address: (plugin: string) => string }) {
  const [row, rowNow, setRow] = useNow(-1);
  const sorted = KINDS.flatMap((kind) => rows.filter((one) => one.kind === kind));
  const keys = (event: KeyboardEvent) => {
    if (event.target !== event.currentTarget) return;
    const next = movedBy(event.key, rowNow(), sorted.length, 10);
    const at = sorted[rowNow()];
    if (next !== null) {
      setRow(next);
      event.preventDefault();
      document.getElementById(`plugin-${next}`)?.scrollIntoView({ block: "nearest" });
    } else if (event.key === "Enter" && at) go(address(`${at.kind}/${at.name}`));
  };
  return (
    <div class="plugins" data-rows tabIndex={0} role="group" aria-label="plugins; j and k move, Enter opens" onKeyDown={keys}>
      <a class={chosen === ENV ? "plugin chosen" : "plugin"} href={address(ENV)}>
        <strong>env</strong> <span class="sub">settings of the job</span>
      </a>
      {sorted.length === 0 ? <p class="none">No plugin matches the filter.</p> : null}
      {sorted.map((one, at) => (
        <div key={`${one.kind}/${one.name}`} id={`plugin-${at}`} class={at === row ? "active" : undefined}>
          {sorted[at - 1]?.kind !== one.kind ? <h2>{one.kind}s</h2> : null}
          <a class={chosen === `${one.kind}/${one.name}` ? "plugin chosen" : "plugin"} href={address(`${one.kind}/${one.name}`)}>
            <strong>
              <Name text={one.name} most={40} />
            </strong>{" "}
            <span class="sub">{plainName(one.summary)}</span>
          </a>
        </div>
      ))}
    </div>
  );
}

function Detail({ of, filter }: { of: Answer<PluginDetail>; filter: string }) {
  return (
    <Shown of={of} rows={8}>
      {(data) => (
        <Options title={data.name} kind={`${data.kind}, of ${data.distribution}`} summary={data.summary} options={data.options} filter={filter}>
          {mayDo("edit") ? (
            <a class="open-editor" href={linkToEditor("", { plugin: `${data.kind}/${data.name}` })}>
              Begin a job file with it
            </a>
          ) : null}
        </Options>
      )}
    </Shown>
  );
}

interface OptionsProps {
  title: string;
  kind: string;
  summary: string;
  options: PluginOption[];
  filter: string;
  children?: preact.ComponentChildren;
}

function Options({ title, kind, summary, options, filter, children }: OptionsProps) {
  const shown = options.filter((one) => matches(filter, one.key, ...one.fallback, one.type, one.doc));
  const sorted = [...shown.filter((one) => one.required), ...shown.filter((one) => !one.required)];
  return (
    <>
      <div class="card-head">
        <h2>{plainName(title)}</h2>
        <span class="faint">{plainName(kind)}</span>
        {children}
        <FilterField name="option" text={filter} hint="Filter options" label="filter options by name or meaning" pause={120} />
      </div>
      <p class="summary">{plainName(summary)}</p>
      {sorted.length === 0 ? <p class="none">No option matches the filter.</p> : null}
      <div class="scroll">
        <table class="rows options">
          <thead>
            <tr>
              <th scope="col">Option</th>
              <th scope="col">Type</th>
              <th scope="col">Default</th>
              <th scope="col">Meaning</th>
            </tr>
          </thead>
          <tbody>
            {sorted.map((one) => (
              <OptionRow key={one.key} option={one} />
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

function OptionRow({ option }: { option: PluginOption }) {
  return (
    <tr>
      <td>
        <span class="mono">{plainName(option.key)}</span>
        {option.required ? <span class="tag">required</span> : null}
        {option.secret ? <span class="tag">secret</span> : null}
        {option.fallback.length > 0 ? <span class="sub mono">also {option.fallback.map(plainName).join(", ")}</span> : null}
      </td>
      <td class="mono">{plainName(option.choices.length > 0 ? option.choices.join(" | ") : option.type)}</td>
      <td class="mono">{option.default ? plainName(option.default) : <span class="faint">–</span>}</td>
      <td class="meaning">{plainName(option.doc)}</td>
    </tr>
  );
}
