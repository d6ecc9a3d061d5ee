// The editor of a job file: its text, problems, plan and revisions. Its scripts are loaded by this page only.

import "../style/edit.css";

import type { EditorView } from "@codemirror/view";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { DefinitionText, Fault, PluginDetail } from "../api/shapes";
import { mayDo, ProgressLine } from "../parts/acts";
import { Ago, Name } from "../parts/marks";
import { Failed, Loading } from "../parts/views";
import { useAnswer } from "../state/asking";
import { type Draft, drafts, dropDraft, isChanged, keepDraft } from "../state/drafts";
import { linkToEditor, query } from "../state/location";
import { useCheck } from "./checking";
import { Planning } from "./planning";
import { Problems } from "./problems";
import { Revisions } from "./revisions";
import { useSaving } from "./saving";
import { template } from "./template";
import { TextPane } from "./text_pane";

type View = "problems" | "plan" | "revisions";

export function EditorPage({ id }: { id: string }) {
  const stored = useAnswer<DefinitionText>(id ? `definitions/${encodeURIComponent(id)}` : null);
  const plugin = query.value.get("plugin");
  const begun = useAnswer<PluginDetail>(id === "" && plugin ? `plugins/${plugin.split("/").map(encodeURIComponent).join("/")}` : null);
  const draft = drafts.value.get(id);
  const kept = useRef(draft !== undefined && isChanged(draft));
  useEffect(() => {
    document.title = `${id || "New job file"} · SeaTunnel`;
    return () => {
      const left = drafts.peek().get(id);
      if (left && !isChanged(left)) dropDraft(id);
    };
  }, [id]);
  useEffect(() => {
    if (draft !== undefined) return;
    if (stored.data) keepDraft(id, { text: stored.data.newest.text, saved: stored.data.newest.text, base: stored.data.newest.number });
    else if (id === "" && (!plugin || begun.data || begun.problem)) {
      const text = template(begun.data);
      keepDraft(id, { text, saved: text });
    }
  }, [id, draft === undefined, stored.data, plugin, begun.data, begun.problem]);
  if (draft === undefined) {
    if (stored.problem) return <Failed problem={stored.problem} again={stored.again} />;
    return <Loading rows={8} />;
  }
  return (
    <>
      {id === "" && plugin && kept.current && isChanged(draft) ? <p class="note">A text that is not saved stands here already. Save or discard it, then choose the plugin again.</p> : null}
      <Editing id={id} draft={draft} stored={stored.data} again={stored.again} />
    </>
  );
}

interface EditingProps {
  id: string;
  draft: Draft;
  stored: DefinitionText | null;
  again: () => void;
}

function Editing({ id, draft, stored, again }: EditingProps) {
  const may = mayDo("edit");
  const [turn, setTurn] = useState(0);
  const view = useRef<EditorView | null>(null);
  const { progress, close, refused, saveNow, startNow } = useSaving(id, draft, may, again);
  const checked = useCheck(draft.text, draft.variables, may);
  const faults = useMemo(() => joined(checked.faults, refused.text === draft.text ? refused.faults : []), [checked.faults, refused, draft.text]);
  const take = (text: string, changes: Partial<Draft> = {}) => {
    keepDraft(id, { text, ...changes });
    setTurn((before) => before + 1);
  };
  const fresh = checked.text === draft.text;
  return (
    <>
      <Head id={id} draft={draft} stored={stored} busy={progress.is === "asked"} may={may} save={() => void saveNow()} discard={() => take(draft.saved)} />
      <ProgressLine progress={progress} close={close} />
      {stored && stored.newest.number > draft.base ? <Overtaken id={id} stored={stored} take={take} /> : null}
      <div class="editing">
        <section class="card text-card" aria-label="text">
          <TextPane key={turn} text={draft.text} writable={may} faults={faults} fresh={fresh} changed={(text) => keepDraft(id, { text })} save={() => void saveNow()} opened={(made) => { view.current = made; }} />
          <p class="faint keys">
            {may ? "Ctrl-S saves. Ctrl-Space completes, F8 goes to the next problem. Esc, then Tab, leaves the text." : "You may read this text; changing it needs the role edit."}
          </p>
        </section>
        <Side id={id} draft={draft} faults={fresh ? faults.length : null}>
          {(shown) =>
            shown === "plan" ? (
              <Planning text={draft.text} variables={draft.variables} may={may}>
                <StartButton id={id} draft={draft} busy={progress.is === "asked"} start={() => void startNow()} />
              </Planning>
            ) : shown === "revisions" ? (
              <Revisions id={id} draft={draft} newest={stored?.newest.number ?? draft.base} take={may ? (text) => take(text) : null} />
            ) : (
              <Problems checked={checked} faults={faults} fresh={fresh} may={may} view={() => view.current} />
            )
          }
        </Side>
      </div>
    </>
  );
}

function StartButton({ id, draft, busy, start }: { id: string; draft: Draft; busy: boolean; start: () => void }) {
  const nameless = id === "" && !draft.id.trim();
  const may = mayDo("operate");
  return (
    <button type="button" class="main" disabled={!may || busy || nameless} title={!may ? "This needs the role operate." : nameless ? "Give it a name first." : undefined} onClick={start}>
      {id === "" || isChanged(draft) ? "Save and start" : "Start"}
    </button>
  );
}

/** Both lists, each fault once. Pure. */
export function joined(checked: readonly Fault[], refused: readonly Fault[]): readonly Fault[] {
  if (refused.length === 0) return checked;
  const key = (one: Fault): string => `${one.line}:${one.column}:${one.message}`;
  const known = new Set(checked.map(key));
  return [...checked, ...refused.filter((one) => !known.has(key(one)))];
}

interface HeadProps {
  id: string;
  draft: Draft;
  stored: DefinitionText | null;
  busy: boolean;
  may: boolean;
  save: () => void;
  discard: () => void;
}

function Head({ id, draft, stored, busy, may, save, discard }: HeadProps) {
  const changed = isChanged(draft);
  return (
    <div class="title-row edit-head">
      <h1>{id ? <Name text={id} most={60} /> : "New job file"}</h1>
      {id === "" ? <input class="mono" value={draft.id} aria-label="name of the job file" placeholder="name, as shop-nightly" maxLength={63} onInput={(event) => keepDraft(id, { id: event.currentTarget.value })} /> : null}
      <p class="lead">
        {stored ? (
          <>
            revision {draft.base}, <Ago at={stored.newest.at} /> by <Name text={stored.newest.author} most={24} />
          </>
        ) : null}
        {changed ? <span class="tag unsaved">not saved</span> : null}
      </p>
      {may ? (
        <span class="acts">
          <input value={draft.comment} aria-label="why it was changed" placeholder="why it was changed" maxLength={1000} onInput={(event) => keepDraft(id, { comment: event.currentTarget.value })} />
          {changed ? (
            <button type="button" onClick={discard}>
              Discard
            </button>
          ) : null}
          <button type="button" class="main" disabled={busy || (id === "" ? !draft.id.trim() : !changed)} onClick={save}>
            Save
          </button>
        </span>
      ) : null}
    </div>
  );
}

function Overtaken({ id, stored, take }: { id: string; stored: DefinitionText; take: (text: string, changes?: Partial<Draft>) => void }) {
  const { number, author, text } = stored.newest;
  return (
    <div class="progress refused" role="alert">
      <span>
        Revision {number} by <Name text={author} most={24} /> was saved since you have read the text.
      </span>
      <button type="button" onClick={() => take(text, { base: number, saved: text })}>
        Take it, drop mine
      </button>
      <button type="button" onClick={() => keepDraft(id, { base: number, saved: text })}>
        Keep mine, on top of it
      </button>
    </div>
  );
}

const WORDS: Record<View, string> = { problems: "Problems", plan: "Plan", revisions: "Revisions" };

interface SideProps {
  id: string;
  draft: Draft;
  /** Null: they are not known yet. */
  faults: number | null;
  children: (shown: View) => preact.ComponentChildren;
}

function Side({ id, draft, faults, children }: SideProps) {
  const asked = query.value.get("view");
  const views: View[] = id === "" ? ["problems", "plan"] : ["problems", "plan", "revisions"];
  const shown = views.find((one) => one === asked) ?? "problems";
  return (
    <section class="card side-card" aria-label="about the text">
      <div class="tabs" role="tablist" aria-label="about the text">
        {views.map((one) => (
          <a key={one} id={`tab-${one}`} role="tab" href={linkToEditor(id, one === "problems" ? {} : { view: one })} aria-selected={one === shown} aria-controls={one === shown ? "panel" : undefined} tabIndex={one === shown ? 0 : -1}>
            {WORDS[one]}
            {one === "problems" && faults ? <span class="tab-count num">{faults}</span> : null}
          </a>
        ))}
      </div>
      <div role="tabpanel" id="panel" aria-labelledby={`tab-${shown}`}>
        {children(shown)}
      </div>
      <details>
        <summary>Variables</summary>
        <p class="faint">For the check, the plan and the start: one name=value in each line.</p>
        <textarea class="mono" rows={3} aria-label="variables" value={draft.variables} onInput={(event) => keepDraft(id, { variables: event.currentTarget.value })} />
      </details>
    </section>
  );
}
