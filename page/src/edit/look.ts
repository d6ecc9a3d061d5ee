// The look of the text. The editor stands in a shadow tree: its styles are constructed there, for the content policy of
// the page refuses style elements. Colours are the variables of the page, so both themes fit.

import { EditorView } from "@codemirror/view";

export const look = EditorView.theme({
  "&": { height: "100%", fontSize: "12.5px", color: "var(--text)", backgroundColor: "var(--surface)" },
  "&.cm-focused": { outline: "2px solid var(--focus)", outlineOffset: "-2px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "19px", overflow: "auto" },
  ".cm-content": { caretColor: "var(--text)", padding: "8px 0" },
  ".cm-cursor, .cm-dropCursor": { borderLeftColor: "var(--text)" },
  ".cm-selectionBackground": { backgroundColor: "var(--run-soft) !important" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--raised)" },
  ".cm-gutters": { backgroundColor: "var(--surface)", color: "var(--faint)", borderRight: "1px solid var(--line)" },
  ".look-comment": { color: "var(--faint)", fontStyle: "italic" },
  ".look-string": { color: "var(--good)" },
  ".look-key": { color: "var(--run)" },
  ".look-number": { color: "var(--split)" },
  ".look-variable": { color: "var(--warn)" },
  ".look-mark": { color: "var(--faint)" },
  ".cm-lintRange-error": { backgroundImage: "none", textDecoration: "underline wavy var(--bad) 1.2px", textUnderlineOffset: "3px" },
  ".cm-lint-marker-error": { content: "none", width: "8px", height: "8px", borderRadius: "50%", backgroundColor: "var(--bad)", margin: "5px 2px 0" },
  ".cm-tooltip": { backgroundColor: "var(--surface)", color: "var(--text)", border: "1px solid var(--line-strong)", borderRadius: "6px", overflow: "hidden", maxWidth: "480px" },
  ".cm-tooltip-about": { padding: "6px 10px", fontFamily: "var(--sans)", lineHeight: "18px" },
  ".cm-tooltip-about strong": { display: "block", fontFamily: "var(--mono)", fontSize: "12px" },
  ".cm-diagnostic": { borderLeft: "4px solid var(--bad)", padding: "6px 10px", fontFamily: "var(--sans)", whiteSpace: "normal" },
  ".cm-diagnosticAction": { backgroundColor: "var(--accent)", color: "var(--accent-text)", borderRadius: "4px", padding: "2px 8px", marginLeft: "0", marginTop: "4px", display: "block" },
  ".cm-tooltip-autocomplete ul": { fontFamily: "var(--mono)", fontSize: "12px" },
  ".cm-tooltip-autocomplete ul li": { padding: "3px 10px !important" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent) !important", color: "var(--accent-text) !important" },
  ".cm-completionIcon": { display: "none" },
  ".cm-completionDetail": { color: "inherit", opacity: "0.8", fontStyle: "normal", marginLeft: "10px" },
  ".cm-completionInfo": { fontFamily: "var(--sans)", padding: "6px 10px !important", maxWidth: "340px" },
  ".cm-panels": { backgroundColor: "var(--raised)", color: "var(--text)", borderColor: "var(--line)" },
});
