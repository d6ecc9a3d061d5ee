// The text of a job file in CodeMirror: lines with numbers, completion, problems at their places.

import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { type Diagnostic, lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { EditorState, type Extension } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, highlightActiveLineGutter, hoverTooltip, keymap, lineNumbers, type Tooltip } from "@codemirror/view";
import type { Fault } from "../api/shapes";
import { colours } from "./colours";
import { aboutName, catalogue, complete } from "./completing";
import { placeAt, replacedBy, spanAt, written } from "./hocon";
import { look } from "./look";

interface Given {
  text: string;
  writable: boolean;
  changed: (text: string) => void;
  save: () => void;
}

/** Put an editor into a place of the page. */
export function openText(place: HTMLElement, given: Given): EditorView {
  const root = place.shadowRoot ?? place.attachShadow({ mode: "open" });
  const state = EditorState.create({ doc: given.text, extensions: extensions(given) });
  return new EditorView({ state, root, parent: root });
}

function extensions({ writable, changed, save }: Given): Extension[] {
  return [
    lineNumbers(),
    lintGutter(),
    highlightActiveLineGutter(),
    highlightActiveLine(),
    history(),
    drawSelection(),
    closeBrackets(),
    autocompletion({ override: [complete], icons: false }),
    hoverTooltip(about),
    EditorView.domEventHandlers({ beforeinput: typedOver }),
    colours,
    look,
    EditorState.tabSize.of(2),
    EditorState.readOnly.of(!writable),
    EditorState.languageData.of(() => [{ commentTokens: { line: "#" }, closeBrackets: { brackets: ["{", "[", '"'] } }]),
    EditorView.contentAttributes.of({ "aria-label": "text of the job file" }),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) changed(update.state.doc.toString());
    }),
    keymap.of([
      { key: "Mod-s", run: () => (save(), true) },
      ...closeBracketsKeymap,
      ...completionKeymap,
      ...lintKeymap,
      ...historyKeymap,
      ...defaultKeymap,
      indentWithTab,
    ]),
  ];
}

/** Text that replaces a selection. A browser would keep the style of the old text in an attribute, which the content policy
 * of the page refuses. */
function typedOver(event: InputEvent, view: EditorView): boolean {
  const { from, to, empty } = view.state.selection.main;
  const text = event.data;
  if (event.inputType !== "insertText" || !text || empty || view.composing) return false;
  event.preventDefault();
  if (view.state.readOnly) return true;
  const insert = () => view.state.update(view.state.replaceSelection(text), { userEvent: "input.type", scrollIntoView: true });
  if (!view.state.facet(EditorView.inputHandler).some((handle) => handle(view, from, to, text, insert))) view.dispatch(insert());
  return true;
}

/** The place of a fault in the text; null: it has none. */
function rangeOf(state: EditorState, fault: Fault): { from: number; to: number } | null {
  if (!fault.line || fault.line > state.doc.lines) return null;
  const line = state.doc.line(fault.line);
  const span = spanAt(line.text, fault.column ?? 1);
  return { from: line.from + span.from, to: line.from + span.to };
}

/** Show these faults, and only these. */
export function showFaults(view: EditorView, faults: readonly Fault[]): void {
  const found: Diagnostic[] = [];
  for (const fault of faults) {
    const range = rangeOf(view.state, fault);
    if (range === null) continue;
    const actions = !view.state.readOnly && mendable(view.state, fault) ? [{ name: `Change to ${fault.suggestion}`, apply: (on: EditorView) => mend(on, fault) }] : [];
    found.push({ from: range.from, to: range.to, severity: "error", message: sentence(fault), actions });
  }
  view.dispatch(setDiagnostics(view.state, found));
}

/** A fault with its remedy. */
export const sentence = (fault: Fault): string => [fault.message, fault.remedy].filter(Boolean).join(". ");

/** The place that the nearest name belongs to; null: no word at its place is alike. */
export function mendable(state: EditorState, fault: Fault): { from: number; to: number; quoted: boolean } | null {
  if (!fault.suggestion || !fault.line || fault.line > state.doc.lines) return null;
  const line = state.doc.line(fault.line);
  const span = replacedBy(line.text, fault.column ?? 1, fault.suggestion);
  return span && { from: line.from + span.from, to: line.from + span.to, quoted: span.quoted };
}

/** Write the nearest name in the place of a wrong one. */
export function mend(view: EditorView, fault: Fault): void {
  const range = mendable(view.state, fault);
  if (range === null || !fault.suggestion) return;
  const insert = written(fault.suggestion, range.quoted);
  view.dispatch({ changes: { from: range.from, to: range.to, insert }, selection: { anchor: range.from + insert.length }, scrollIntoView: true });
  view.focus();
}

/** Put the cursor at a fault. */
export function goTo(view: EditorView, fault: Fault): void {
  const range = rangeOf(view.state, fault);
  if (range === null) return;
  view.dispatch({ selection: { anchor: range.from, head: range.to }, effects: EditorView.scrollIntoView(range.from, { y: "center" }) });
  view.focus();
}

/** What is known about the name below the pointer. */
async function about(view: EditorView, at: number): Promise<Tooltip | null> {
  const line = view.state.doc.lineAt(at);
  const before = /[\w.-]*$/.exec(line.text.slice(0, at - line.from))?.[0] ?? "";
  const name = before + (/^[\w.-]*/.exec(line.text.slice(at - line.from))?.[0] ?? "");
  const from = at - before.length;
  const place = name ? placeAt(view.state.sliceDoc(0, from)) : null;
  const found = place && (await aboutName(place, name, catalogue).catch(() => null));
  if (!found) return null;
  return {
    pos: from,
    end: from + name.length,
    create: () => {
      const dom = document.createElement("div");
      dom.className = "cm-tooltip-about";
      const title = document.createElement("strong");
      title.textContent = found.title;
      dom.append(title, found.text);
      return { dom };
    },
  };
}
