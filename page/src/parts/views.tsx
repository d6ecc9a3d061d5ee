// The states of a view other than its content: empty, loading, and an error with its remedy.

import type { ComponentChildren } from "preact";
import type { Problem } from "../api/client";
import type { Answer } from "../state/asking";

/** The kind of a problem in a good answer, or of one that the page has found: it has no status. */
export const FOUND = "found";

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  );
}

export function Failed({ problem, again }: { problem: Problem; again?: () => void }) {
  return (
    <div class="failed" role="alert">
      <p>
        <strong>{problem.message}</strong>
      </p>
      {problem.remedy ? <p>{problem.remedy}</p> : null}
      {problem.kind === FOUND ? null : (
        <p class="faint">
          {problem.status ? `status ${problem.status}` : "no answer"}
          {problem.request ? `, request ${problem.request}` : ""}
        </p>
      )}
      {again ? (
        <button type="button" onClick={again}>
          Try again
        </button>
      ) : null}
    </div>
  );
}

/** Bars in the place of rows that are on their way. */
export function Loading({ rows = 6 }: { rows?: number }) {
  return (
    <div class="loading" role="status" aria-label="loading">
      {Array.from({ length: rows }, (_, at) => (
        <div key={at} class="bone" />
      ))}
    </div>
  );
}

/** The content of an answer, or the state that stands in its place. A later failure keeps the content in view. */
export function Shown<T>({ of, rows, children }: { of: Answer<T>; rows?: number; children: (data: T) => ComponentChildren }) {
  if (of.data === null) {
    if (of.problem) return <Failed problem={of.problem} again={of.again} />;
    return of.slow ? <Loading rows={rows} /> : <div class="awaited" />;
  }
  return (
    <>
      {of.problem ? <Failed problem={of.problem} again={of.again} /> : null}
      {children(of.data)}
    </>
  );
}
