// Colours the lines that are in view.

import { type EditorState, RangeSetBuilder, StateField, type Text, type Transaction } from "@codemirror/state";
import { Decoration, type DecorationSet, type EditorView, ViewPlugin, type ViewUpdate } from "@codemirror/view";
import { pieces, type Look } from "./hocon";

const MARKS = Object.fromEntries(
  (["comment", "string", "key", "number", "word", "variable", "mark"] as Look[]).map((look) => [look, Decoration.mark({ class: `look-${look}` })]),
) as Record<Look, Decoration>;

/** The lines at whose beginnings a text in three quotes is open, by their numbers from 0. Null: no text has three quotes,
 * which is so for most job files. */
export type OpenLines = readonly boolean[] | null;

export function openLines(text: Text): OpenLines {
  if (!hasLong(text)) return null;
  const found: boolean[] = [];
  let open = false;
  for (let at = 1; at <= text.lines; at += 1) {
    found.push(open);
    open = pieces(text.line(at).text, open).open;
  }
  return found;
}

function hasLong(text: Text): boolean {
  for (const part of text.iter()) if (part.includes('"""')) return true;
  return false;
}

const openField = StateField.define<OpenLines>({
  create: (state: EditorState) => openLines(state.doc),
  update: (before: OpenLines, change: Transaction) => (change.docChanged ? openLines(change.newDoc) : before),
});

function drawn(view: EditorView): DecorationSet {
  const made = new RangeSetBuilder<Decoration>();
  const open = view.state.field(openField);
  for (const { from, to } of view.visibleRanges) {
    for (let at = from; at <= to; ) {
      const line = view.state.doc.lineAt(at);
      for (const one of pieces(line.text, open?.[line.number - 1] ?? false).pieces) made.add(line.from + one.from, line.from + one.to, MARKS[one.look]);
      at = line.to + 1;
    }
  }
  return made.finish();
}

const plugin = ViewPlugin.fromClass(
  class {
    marks: DecorationSet;
    constructor(view: EditorView) {
      this.marks = drawn(view);
    }
    update(update: ViewUpdate): void {
      if (update.docChanged || update.viewportChanged) this.marks = drawn(update.view);
    }
  },
  { decorations: (one) => one.marks },
);

export const colours = [openField, plugin];
