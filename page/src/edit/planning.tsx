// The plan of the text before a run: steps, tables, effects on the targets, guarantees; and the start.

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { ask, Problem } from "../api/client";
import type { Planned } from "../api/shapes";
import { Drawing } from "../graph/card";
import { PlanGroups } from "../job/plan";
import { Failed, Loading } from "../parts/views";
import { count, counted, plainName } from "../text/format";
import { variablesOf } from "./checking";
import { sentence } from "./text";

interface Props {
  text: string;
  variables: string;
  may: boolean;
  /** The start button. */
  children: ComponentChildren;
}

type Found = { text: string; plan: Planned | null; problem: Problem | null };

export function Planning({ text, variables, may, children }: Props) {
  const [found, setFound] = useState<Found | null>(null);
  const [turn, setTurn] = useState(0);
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    if (!may) return;
    const ending = new AbortController();
    setBusy(true);
    ask<Planned>("plan", { method: "POST", body: { text, variables: variablesOf(variables) }, signal: ending.signal })
      .then((plan) => setFound({ text, plan, problem: null }))
      .catch((error: unknown) => {
        if (!ending.signal.aborted) setFound({ text, plan: null, problem: error instanceof Problem ? error : new Problem(0, String(error)) });
      })
      .finally(() => {
        if (!ending.signal.aborted) setBusy(false);
      });
    return () => ending.abort();
  }, [turn, may]);
  const again = () => setTurn((before) => before + 1);
  if (!may) {
    return (
      <>
        <div class="plan-acts">{children}</div>
        <p class="none">A plan needs the role edit.</p>
      </>
    );
  }
  return (
    <>
      <div class="plan-acts">
        <button type="button" disabled={busy} aria-busy={busy} onClick={again}>
          {busy ? "Planning…" : "Plan again"}
        </button>
        {children}
        {found !== null && found.text !== text ? <span class="faint">The text has changed since this plan.</span> : null}
      </div>
      {found === null ? <Loading rows={5} /> : null}
      {found?.problem ? <Failed problem={found.problem} again={again} /> : null}
      {found?.plan ? <PlanShown plan={found.plan} /> : null}
    </>
  );
}

/** The first line of a plan. Pure. */
export function planSentence(plan: Planned): string {
  const pipelines = plan.pipelines ?? [];
  const tables = plan.summary?.tables ?? pipelines.length;
  const rows = plan.summary?.rows_estimate;
  const lost = pipelines.flatMap((one) => one.sinks).flatMap((sink) => (sink.effects ?? []).filter((effect) => effect.destructive));
  const first = `${counted(tables, "table")}${rows == null ? "" : `, about ${count(rows)} rows`}.`;
  return `${first} ${lost.length === 0 ? "No data of a target is removed." : `${counted(lost.length, "target")} ${lost.length === 1 ? "loses" : "lose"} data.`}`;
}

function PlanShown({ plan }: { plan: Planned }) {
  const faults = plan.problems ?? [];
  if (faults.length > 0) {
    return (
      <div class="failed" role="alert">
        <p>
          <strong>There is no plan yet: {counted(faults.length, "problem")}.</strong>
        </p>
        <ul>
          {faults.map((one, at) => (
            <li key={at}>
              {one.line ? `line ${one.line}: ` : ""}
              {plainName(sentence(one))}
            </li>
          ))}
        </ul>
      </div>
    );
  }
  return (
    <>
      <p class="plan-sentence" role="status">
        {planSentence(plan)}
      </p>
      {plan.graph ? <Drawing graph={plan.graph} /> : null}
      {(plan.isolated ?? []).map((one) => (
        <p key={one.table} class="failed">
          <strong>{plainName(one.table)}</strong> {plainName(`${one.problem}. ${one.remedy}`)}
        </p>
      ))}
      {(plan.notes ?? []).map((one, at) => (
        <p key={at} class="note">
          {plainName(one)}
        </p>
      ))}
      <PlanGroups pipelines={plan.pipelines ?? []} />
    </>
  );
}
