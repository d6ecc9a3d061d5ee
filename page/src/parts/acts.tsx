// Buttons that ask the server or a driver for something. Nothing is shown as done before it is: a button shows "asked"
// until the answer is there.

import { useEffect, useState } from "preact/hooks";
import { act, ask, Problem, session } from "../api/client";
import type { Asked, RequestProgress, Role } from "../api/shapes";

const ROLES: Role[] = ["read", "operate", "edit", "admin"];

/** Whether the role of the login is enough. */
export function mayDo(needed: Role): boolean {
  const known = session.value;
  return known !== null && known !== "out" && ROLES.indexOf(known.role) >= ROLES.indexOf(needed);
}

export type Progress = { is: "ready" } | { is: "asked"; what: string } | { is: "done"; what: string } | { is: "refused"; problem: Problem };

interface ActProps {
  label: string;
  path: string;
  /** While the answer is awaited: "asked for a savepoint". */
  asked: string;
  role?: Role;
  body?: unknown;
  look?: "plain" | "main" | "danger";
  /** A question that must be answered first; for acts that lose work. */
  confirm?: string;
  quiet?: boolean;
  hint?: string;
  report: (progress: Progress) => void;
  then?: (answer: Asked) => void;
}

export function ActButton(props: ActProps) {
  const [sure, setSure] = useState(false);
  const [busy, setBusy] = useState(false);
  const allowed = mayDo(props.role ?? "operate");
  useEffect(() => {
    if (!sure) return;
    const timer = window.setTimeout(() => setSure(false), 6000);
    return () => window.clearTimeout(timer);
  }, [sure]);

  const run = async () => {
    if (props.confirm && !sure) {
      setSure(true);
      return;
    }
    setSure(false);
    setBusy(true);
    props.report({ is: "asked", what: props.asked });
    try {
      const answer = await act<Asked>(props.path, props.body ?? {});
      props.then?.(answer);
      if (answer.request) props.report(await answered(answer));
    } catch (error) {
      props.report({ is: "refused", problem: error instanceof Problem ? error : new Problem(0, String(error)) });
    } finally {
      setBusy(false);
    }
  };
  const why = allowed ? props.hint : `This needs the role ${props.role ?? "operate"}.`;
  return (
    <button type="button" class={`act ${props.look ?? "plain"}${sure ? " sure" : ""}`} disabled={!allowed || busy} title={why} aria-busy={busy} onClick={() => void run()}>
      {busy ? "Asked…" : sure ? props.confirm : props.label}
    </button>
  );
}

const ASK_EVERY_MS = 700;
const ASK_FOR_MS = 600_000;

/** The answer of a driver to a request. */
async function answered(asked: Asked): Promise<Progress> {
  const until = Date.now() + ASK_FOR_MS;
  while (Date.now() < until) {
    const found = await ask<RequestProgress>(`runs/${encodeURIComponent(asked.job_id)}/requests/${asked.request}`);
    if (found.answer !== null) {
      const { done, text, remedy } = found.answer;
      if (!done) return { is: "refused", problem: new Problem(409, text || `The driver refused to ${found.wish}.`, remedy) };
      return { is: "done", what: text || `${found.wish} is done` };
    }
    await new Promise((resolve) => window.setTimeout(resolve, ASK_EVERY_MS));
  }
  return { is: "refused", problem: new Problem(0, "The driver has not answered for 10 minutes.", "Look at the log of the run.") };
}

/** The line that shows how an act goes. */
export function ProgressLine({ progress, close }: { progress: Progress; close: () => void }) {
  if (progress.is === "ready") return null;
  const bad = progress.is === "refused";
  return (
    <div class={`progress ${progress.is}`} role={bad ? "alert" : "status"}>
      {progress.is === "asked" ? <span class="pulse" aria-hidden="true" /> : null}
      <span>
        {progress.is === "refused" ? progress.problem.message : progress.what}
        {progress.is === "refused" && progress.problem.remedy ? ` ${progress.problem.remedy}` : ""}
      </span>
      {progress.is === "asked" ? null : (
        <button type="button" class="quiet" onClick={close} aria-label="close this message">
          ×
        </button>
      )}
    </div>
  );
}
