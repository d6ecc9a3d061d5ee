// Saves the text of a draft as a revision, and starts it.

import { useState } from "preact/hooks";
import { act, ask, Problem } from "../api/client";
import type { Asked, Fault, Revision } from "../api/shapes";
import type { Progress } from "../parts/acts";
import { type Draft, drafts, dropDraft, isChanged, keepDraft } from "../state/drafts";
import { go, linkTo, linkToEditor, query } from "../state/location";
import { variablesOf } from "./checking";

/** Save a draft as a new revision, or as a new definition. Returns the id of the definition. */
async function save(id: string, draft: Draft): Promise<string> {
  const { text, comment } = draft;
  if (id === "") {
    const own = draft.id.trim();
    const made = await ask<Revision>("definitions", { method: "POST", body: { id: own, text, comment } });
    keepDraft(own, { text, saved: text, base: made.number, variables: draft.variables });
    dropDraft("");
    return own;
  }
  const made = await ask<Revision>(`definitions/${encodeURIComponent(id)}`, { method: "PUT", body: { text, comment }, headers: { "If-Match": `"${draft.base}"` } });
  keepDraft(id, { saved: text, base: made.number, comment: "" });
  return id;
}

/** Start the newest revision. Returns the id of the run. */
async function start(id: string, draft: Draft): Promise<string> {
  const asked = await act<Asked>(`definitions/${encodeURIComponent(id)}/runs`, { variables: variablesOf(draft.variables) });
  return asked.job_id;
}

interface Saving {
  progress: Progress;
  close: () => void;
  /** The faults for which the server has refused this text. */
  refused: { text: string; faults: readonly Fault[] };
  /** The id of the definition; null: it is not saved. */
  saveNow: () => Promise<string | null>;
  startNow: () => Promise<void>;
}

/** The acts on a text. `again`: reads the definition again. */
export function useSaving(id: string, draft: Draft, may: boolean, again: () => void): Saving {
  const [progress, setProgress] = useState<Progress>({ is: "ready" });
  const [refused, setRefused] = useState<Saving["refused"]>({ text: "", faults: [] });
  const failed = (error: unknown): null => {
    const problem = error instanceof Problem ? error : new Problem(0, String(error));
    setRefused({ text: draft.text, faults: problem.faults });
    if (problem.status === 412) again();
    setProgress({ is: "refused", problem });
    return null;
  };
  const saveNow = async (): Promise<string | null> => {
    const now = drafts.peek().get(id);
    if (now === undefined) return null;
    if (id !== "" && !isChanged(now)) return id;
    if (!may) return null;
    setProgress({ is: "asked", what: "asked to save" });
    const own = await save(id, now).catch(failed);
    if (own === null) return null;
    setProgress({ is: "done", what: "Saved." });
    if (id === "") go(linkToEditor(own, Object.fromEntries([...query.peek()].filter(([name]) => name === "view"))), "replace");
    else again();
    return own;
  };
  const startNow = async (): Promise<void> => {
    const own = await saveNow();
    if (own === null) return;
    setProgress({ is: "asked", what: `asked to start ${own}` });
    const run = await start(own, draft).catch(failed);
    if (run !== null) go(linkTo(run));
  };
  return { progress, close: () => setProgress({ is: "ready" }), refused, saveNow, startNow };
}
