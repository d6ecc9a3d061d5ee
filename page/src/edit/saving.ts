// Saves the text of a draft as a revision, and starts it.

import { act, ask } from "../api/client";
import type { Asked, Revision } from "../api/shapes";
import { type Draft, dropDraft, keepDraft } from "../state/drafts";
import { variablesOf } from "./checking";

/** Save a draft as a new revision, or as a new definition. Returns the id of the definition. */
export async function save(id: string, draft: Draft): Promise<string> {
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
export async function start(id: string, draft: Draft): Promise<string> {
  const asked = await act<Asked>(`definitions/${encodeURIComponent(id)}/runs`, { variables: variablesOf(draft.variables) });
  return asked.job_id;
}
