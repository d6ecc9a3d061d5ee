// The text of a job file on the page, with the faults that are known of it.

import type { EditorView } from "@codemirror/view";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Fault } from "../api/shapes";
import { openText, showFaults } from "./text";

interface Props {
  /** At first; afterwards the text is that of the editor. */
  text: string;
  writable: boolean;
  faults: readonly Fault[];
  /** Whether the faults are those of the text as it is now. */
  fresh: boolean;
  changed: (text: string) => void;
  save: () => void;
  opened: (view: EditorView | null) => void;
}

export function TextPane(props: Props) {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const newest = useRef(props);
  newest.current = props;
  useLayoutEffect(() => {
    if (place.current === null) return;
    const made = openText(place.current, {
      text: props.text,
      writable: props.writable,
      changed: (text) => newest.current.changed(text),
      save: () => newest.current.save(),
    });
    view.current = made;
    newest.current.opened(made);
    return () => {
      newest.current.opened(null);
      made.destroy();
    };
  }, []);
  useLayoutEffect(() => {
    if (view.current !== null && props.fresh) showFaults(view.current, props.faults);
  }, [props.faults, props.fresh]);
  return <div ref={place} class="text-pane" />;
}
