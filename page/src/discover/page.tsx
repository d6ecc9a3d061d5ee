// From a connection to a job file: name the source, choose of its tables, open the text in the editor.

import "../style/discover.css";

import { useEffect, useState } from "preact/hooks";
import { ask, Problem } from "../api/client";
import type { Fault, PluginDetail, PluginList } from "../api/shapes";
import { mayDo } from "../parts/acts";
import { FilterField, NoTableMatches } from "../parts/filter";
import { Empty, Failed, FOUND, Loading, Shown } from "../parts/views";
import { useAnswer } from "../state/asking";
import { drafts, isChanged, keepDraft } from "../state/drafts";
import { go, linkToEditor, query } from "../state/location";
import { count, counted } from "../text/format";
import { type FoundTable, isReference, matching, optionsOf, readable } from "./choosing";
import { change, chosen, connection, found } from "./connection";
import { asked, ConnectionForm, literal } from "./form";
import { choose, TableList } from "./list";

interface Listed {
  exit_code: number;
  tables?: FoundTable[];
  problems?: Fault[];
  /** In place of the tables: why the connection has failed. */
  message?: string;
  remedy?: string;
}

const LITERAL = "A password itself was typed. It was not sent, and is removed.";
const REMEDY = "Write a reference, as ${env:SHOP_PASSWORD}, and start the server with --allowed-env SHOP_PASSWORD.";

export function DiscoverPage() {
  const list = useAnswer<PluginList>("plugins");
  useEffect(() => {
    document.title = "Discover · SeaTunnel";
  }, []);
  return (
    <>
      <div class="title-row">
        <h1>Discover</h1>
        <p class="lead">From a connection to a job file: list its tables, choose, and open the text in the editor.</p>
      </div>
      <Shown of={list} rows={6}>
        {(data) => (data.discover.length > 0 ? <Discovering sources={data.discover} /> : <Empty title="No installed source lists tables." />)}
      </Shown>
    </>
  );
}

function Discovering({ sources }: { sources: readonly string[] }) {
  const may = mayDo("edit");
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const plugin = sources.includes(connection.value.plugin) ? connection.value.plugin : (sources.find((one) => one === "Jdbc") ?? sources[0] ?? "");
  const list = async (): Promise<void> => {
    setBusy(true);
    setProblem(null);
    try {
      await listTables(plugin);
    } catch (error) {
      found.value = null;
      setProblem(asProblem(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <div class="discover">
      <ConnectionForm sources={sources} plugin={plugin} busy={busy} may={may} list={() => void list()} />
      <section class="card" aria-label="tables">
        {busy ? <Loading rows={10} /> : null}
        {problem ? <Failed problem={problem} /> : null}
        {!busy && !problem && found.value === null ? <Empty title={may ? "Name a connection, then list its tables." : "Listing tables needs the role edit."} /> : null}
        {!busy && found.value !== null ? <Choosing tables={found.value.tables} /> : null}
      </section>
    </div>
  );
}

const asProblem = (error: unknown): Problem => (error instanceof Problem ? error : new Problem(0, String(error)));

/** Ask for the tables of the connection. A typed password is removed, and nothing is sent. */
async function listTables(plugin: string): Promise<void> {
  const { options, further } = connection.peek();
  const detail = await ask<PluginDetail>(`plugins/source/${encodeURIComponent(plugin)}`);
  const fields = asked(detail.options);
  const wrong = literal(fields, options, isReference);
  if (wrong.length > 0) {
    change({ options: Object.fromEntries(Object.entries(options).filter(([key]) => !wrong.includes(key))) });
    throw new Problem(0, LITERAL, REMEDY, "", FOUND);
  }
  const own = fields.flatMap(({ key }) => (options[key] ? [[key, options[key]] as const] : []));
  const given = { ...optionsOf(further), ...Object.fromEntries(own) };
  const answer = await ask<Listed>("discover/tables", { method: "POST", body: { plugin, options: given } });
  const faults = answer.problems ?? [];
  if (answer.tables === undefined) {
    const message = faults.map(faultOf).join("; ") || (answer.message ?? "The tables could not be listed.");
    throw new Problem(0, message, faults[0]?.remedy ?? answer.remedy ?? "", "", FOUND);
  }
  const names = new Set(answer.tables.map((one) => one.table));
  found.value = { plugin, options: given, tables: answer.tables };
  chosen.value = new Set([...chosen.peek()].filter((one) => names.has(one)));
}

/** A problem with the option that has it, but without its place in a text that is not shown. */
const faultOf = (one: Fault): string => {
  const option = one.path?.replace(/^source\[\d+\]\.[^.]+\.?/, "");
  return `${option ? `${option}: ` : ""}${one.message}${one.suggestion ? `, did you mean ${one.suggestion}?` : ""}`;
};

function Choosing({ tables }: { tables: readonly FoundTable[] }) {
  const text = query.value.get("q") ?? "";
  const shown = matching(tables, text);
  const open = shown.filter((one) => readable(one) && !chosen.value.has(one.table)).length;
  const taken = shown.filter((one) => chosen.value.has(one.table)).length;
  if (tables.length === 0) return <Empty title="The connection has no table." />;
  return (
    <>
      <div class="card-head">
        <FilterField text={text} hint="Filter, as shop_* or !audit_*" label="filter tables by words or patterns" pause={120} />
        <button type="button" disabled={open === 0} onClick={() => choose(shown, true)} title="key: a">
          Choose all {count(shown.length)}
        </button>
        <button type="button" disabled={taken === 0} onClick={() => choose(shown, false)} title="key: x">
          Drop {count(taken)}
        </button>
      </div>
      {shown.length === 0 ? (
        <NoTableMatches />
      ) : (
        <TableList key={text} tables={shown} />
      )}
      <p class="list-end faint num" role="status">
        {counted(tables.length, "table")}, {count(shown.length)} listed, {count(chosen.value.size)} chosen
      </p>
      <Opening />
    </>
  );
}

/** The target, and the way into the editor. A text that stands there and is not saved is replaced only on demand. */
function Opening() {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const standing = drafts.value.get("");
  const other = standing !== undefined && isChanged(standing);
  const open = async (): Promise<void> => {
    const of = found.peek();
    if (of === null) return;
    setBusy(true);
    setProblem(null);
    try {
      const tables = of.tables.map((one) => one.table).filter((one) => chosen.peek().has(one));
      const body = { plugin: of.plugin, options: of.options, tables, target: connection.peek().target };
      const made = await ask<{ text: string }>("discover/job", { method: "POST", body });
      keepDraft("", { text: made.text, saved: "" });
      go(linkToEditor());
    } catch (error) {
      setProblem(asProblem(error));
      setBusy(false);
    }
  };
  return (
    <>
      <form class="opening" aria-label="job file" onSubmit={(event) => { event.preventDefault(); void open(); }}>
        <label>
          <span>target</span>
          <input class="mono" value={connection.value.target} required maxLength={2_000} autocomplete="off" spellcheck={false} title="as seatunnel copy takes it: console:, a directory, postgresql://user:${env:NAME}@host/db" onInput={(event) => change({ target: event.currentTarget.value })} />
        </label>
        <button type="submit" class="main" disabled={busy || chosen.value.size === 0}>
          {other ? "Replace the text in the editor" : "Open in the editor"}
        </button>
        {other ? <span class="faint">A text that is not saved stands in the editor.</span> : null}
      </form>
      {problem ? <Failed problem={problem} /> : null}
    </>
  );
}
