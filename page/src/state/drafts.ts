// Texts of job files that are being edited. They are kept here, and not in a component: a session that ends shows the
// login in place of the page, and the text is there again afterwards. They are nowhere else: closing the tab ends them.

import { signal } from "@preact/signals";
import { session } from "../api/client";

export interface Draft {
  text: string;
  /** The revision that was read, and its text; 0: there is none yet. */
  base: number;
  saved: string;
  /** Why it was changed. */
  comment: string;
  /** Of a new definition. */
  id: string;
  /** One `name=value` in each line. */
  variables: string;
}

/** By the id of the definition; empty: a new one. */
export const drafts = signal<ReadonlyMap<string, Draft>>(new Map());

/** Whether a text differs from the revision that it was made from. */
export const isChanged = (draft: Draft): boolean => draft.text !== draft.saved;

export function keepDraft(id: string, changes: Partial<Draft>): void {
  const before = drafts.peek().get(id) ?? { text: "", base: 0, saved: "", comment: "", id: "", variables: "" };
  drafts.value = new Map(drafts.peek()).set(id, { ...before, ...changes });
}

export function dropDraft(id: string): void {
  const rest = new Map(drafts.peek());
  rest.delete(id);
  drafts.value = rest;
}

let owner: string | null = null;

/** Before a log-out: afterwards only the same login sees the texts. */
export function lockDrafts(): void {
  const known = session.peek();
  owner = known !== null && known !== "out" ? known.name : null;
}

session.subscribe((known) => {
  if (known === null || known === "out") return;
  if (owner !== null && known.name !== owner) drafts.value = new Map();
  owner = null;
});

window.addEventListener("beforeunload", (event) => {
  if ([...drafts.peek().values()].some(isChanged)) event.preventDefault();
});
