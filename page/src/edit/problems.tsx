// The faults of a text as a list: place, message, remedy, and the nearest name as a button.

import type { EditorView } from "@codemirror/view";
import type { Fault } from "../api/shapes";
import { Failed } from "../parts/views";
import { counted, plainName } from "../text/format";
import type { Checked } from "./checking";
import { goTo, mend, mendable, sentence } from "./text";

interface Props {
  checked: Checked;
  faults: readonly Fault[];
  /** Whether the check is of the text as it is now. */
  fresh: boolean;
  may: boolean;
  view: () => EditorView | null;
}

export function Problems({ checked, faults, fresh, may, view }: Props) {
  const on = view();
  const at = (fault: Fault, does: (on: EditorView, fault: Fault) => void) => () => {
    if (on !== null) does(on, fault);
  };
  if (!may) return <p class="none">The check of a text needs the role edit.</p>;
  return (
    <>
      <p class="faint" role="status">
        {!fresh ? "Checking…" : faults.length === 0 ? "No problem is known. The plan looks at both ends." : counted(faults.length, "problem")}
      </p>
      {checked.problem && checked.problem.faults.length === 0 ? <Failed problem={checked.problem} /> : null}
      <ol class="problems" aria-label="problems">
        {faults.map((fault, number) => (
          <li key={number}>
            <button type="button" class="place num" disabled={!fault.line} onClick={at(fault, goTo)} title="go to this place">
              {fault.line ? `${fault.line}:${fault.column ?? 1}` : "–"}
            </button>
            <span class="problem-text">
              {plainName(sentence(fault))}
              {fault.path ? <span class="sub mono">{plainName(fault.path)}</span> : null}
              {fault.suggestion && on && mendable(on.state, fault) ? (
                <button type="button" class="fix" onClick={at(fault, mend)} disabled={!fresh} title={fresh ? undefined : "The text is being checked."}>
                  Change to <code>{plainName(fault.suggestion)}</code>
                </button>
              ) : fault.suggestion ? (
                <span class="sub">
                  Did you mean <code>{plainName(fault.suggestion)}</code>?
                </span>
              ) : null}
            </span>
          </li>
        ))}
      </ol>
      {checked.notes.map((note, number) => (
        <p key={number} class="check-note">
          {plainName(note)}
        </p>
      ))}
    </>
  );
}
