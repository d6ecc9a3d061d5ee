// The form of a connection: the options that the plugin requires, and those with which one logs in.

import type { PluginDetail, PluginOption } from "../api/shapes";
import { Choice } from "../parts/choice";
import { Failed } from "../parts/views";
import { useAnswer } from "../state/asking";
import { plainName } from "../text/format";
import { change, connection } from "./connection";

/** The options that the form asks for. Pure. */
export function asked(options: readonly PluginOption[]): PluginOption[] {
  return options.filter((one) => one.required || one.secret || one.key === "username");
}

interface Props {
  sources: readonly string[];
  plugin: string;
  busy: boolean;
  may: boolean;
  list: () => void;
}

export function ConnectionForm({ sources, plugin, busy, may, list }: Props) {
  const detail = useAnswer<PluginDetail>(`plugins/source/${encodeURIComponent(plugin)}`);
  const { options, further } = connection.value;
  const fields = asked(detail.data?.options ?? []);
  const submit = (event: Event) => {
    event.preventDefault();
    list();
  };
  return (
    <form class="card connection" aria-label="connection" onSubmit={submit} autocomplete="off">
      <label>
        <span>source</span>
        <Choice value={plugin} of={sources.map((one) => [one, one] as const)} chosen={(value) => change({ plugin: value })} />
      </label>
      {detail.problem ? <Failed problem={detail.problem} again={detail.again} /> : null}
      {fields.map((one) => (
        <label key={one.key}>
          <span>{plainName(one.key)}</span>
          <input
            class="mono"
            value={options[one.key] ?? ""}
            required={one.required}
            placeholder={one.secret ? "${env:SHOP_PASSWORD}" : plainName(one.doc)}
            title={one.secret ? "a reference to a variable of the server, never the password itself" : plainName(one.doc)}
            autocomplete="off"
            spellcheck={false}
            maxLength={10_000}
            onInput={(event) => change({ options: { ...connection.peek().options, [one.key]: event.currentTarget.value } })}
          />
        </label>
      ))}
      <details>
        <summary>Further options</summary>
        <textarea class="mono" rows={3} aria-label="further options" placeholder="key=value, one in each line" value={further} onInput={(event) => change({ further: event.currentTarget.value })} />
      </details>
      <button type="submit" class="main" disabled={!may || busy || fields.length === 0} aria-busy={busy} title={may ? undefined : "This needs the role edit."}>
        {busy ? "Asked…" : "List tables"}
      </button>
    </form>
  );
}

/** The secret options that hold something else than a reference. Pure. */
export function literal(fields: readonly PluginOption[], options: Readonly<Record<string, string>>, isReference: (text: string) => boolean): string[] {
  return fields.filter((one) => one.secret && options[one.key] && !isReference(options[one.key] ?? "")).map((one) => one.key);
}
