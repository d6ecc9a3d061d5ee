// An act that changes more than it shows: first the server announces its changes, then a button does exactly these. The
// act is refused if the changes are others by then, and the page announces them again.

import { useState } from "preact/hooks";
import { act, Problem } from "../api/client";
import type { Asked } from "../api/shapes";
import type { Announced, Change } from "../api/stored_shapes";
import { useCostlyAnswer } from "../state/asking";
import { plainName } from "../text/format";
import { mayDo, type Progress } from "./acts";
import { Shown } from "./views";

interface Props {
  title: string;
  /** Of the act; the announcement is that of the same request with `dry`. */
  path: string;
  body: Record<string, unknown>;
  label: string;
  /** While the answer is awaited: "asked to restore". */
  asked: string;
  /** Stands where nothing would change. */
  none: string;
  /** Whether an act without changes does nothing, so that there is no button for it. */
  idle?: boolean;
  report: (progress: Progress) => void;
  then: (answer: Asked) => void;
  close: () => void;
}

export function Announcement(props: Props) {
  const [turn, setTurn] = useState(0);
  const [busy, setBusy] = useState(false);
  const found = useCostlyAnswer<Announced>(`${props.path}?dry=true`, turn, props.body);
  const perform = async (digest: string) => {
    setBusy(true);
    props.report({ is: "asked", what: props.asked });
    try {
      props.then(await act<Asked>(props.path, { ...props.body, digest }));
    } catch (error) {
      const problem = error instanceof Problem ? error : new Problem(0, String(error));
      props.report({ is: "refused", problem });
      if (problem.kind === "announce") setTurn((before) => before + 1);
    } finally {
      setBusy(false);
    }
  };
  return (
    <section class="card announcement" aria-label="announcement">
      <div class="card-head">
        <h2>{props.title}</h2>
        <button type="button" class="quiet" onClick={props.close} aria-label="close the announcement">
          ×
        </button>
      </div>
      <Shown of={found} rows={3}>
        {(data) => (
          <>
            {data.changes.length === 0 ? <p class="none">{props.none}</p> : <Changes changes={data.changes} />}
            {data.refused ? <Refused refused={data.refused} fatal={data.fatal} /> : null}
            {data.fatal || (props.idle && data.changes.length === 0) ? null : (
              <button type="button" class="main" disabled={busy || !mayDo("operate")} title={mayDo("operate") ? undefined : "This needs the role operate."} aria-busy={busy} onClick={() => void perform(data.digest)}>
                {busy ? "Asked…" : data.refused ? `${props.label}, with these changes` : props.label}
              </button>
            )}
          </>
        )}
      </Shown>
    </section>
  );
}

function Refused({ refused, fatal }: { refused: { message: string; remedy: string }; fatal: boolean }) {
  if (!fatal) return <p class="note">Rows before and after these changes may not fit together: the button accepts that.</p>;
  return (
    <div class="failed" role="alert">
      <p>
        <strong>{plainName(refused.message)}</strong>
      </p>
      <p>{plainName(refused.remedy)}</p>
    </div>
  );
}

function Changes({ changes }: { changes: (string | Change)[] }) {
  return (
    <ul class="changes" tabIndex={0} aria-label="changes">
      {changes.map((one, at) =>
        typeof one === "string" ? (
          <li key={at} class={one.startsWith(" ") ? "change-more" : undefined}>
            <bdi>{plainName(one.trim())}</bdi>
          </li>
        ) : (
          <li key={at}>
            <span class={`fate fate-${one.fate}`}>{one.fate}</span> <bdi>{plainName(one.what)}</bdi>: <bdi>{plainName(one.follows)}</bdi>
            {one.needs ? (
              <>
                {" "}
                <span class="tag">wants {one.needs}</span>
              </>
            ) : null}
          </li>
        ),
      )}
    </ul>
  );
}
