// The plan as the run has carried it out: its steps, and the tables with equal shapes together.

import { useState } from "preact/hooks";
import type { Plan, PlanPipeline } from "../api/shapes";
import { Name, StepNames } from "../parts/marks";
import { Failed, Loading } from "../parts/views";
import { useAnswer } from "../state/asking";
import { count, counted, plainName } from "../text/format";

interface Alike {
  first: PlanPipeline;
  names: string[];
}

const SHOWN = 20;

/** Pipelines with the same steps, guarantees and effects are one group. Pure. */
export function alike(pipelines: readonly PlanPipeline[]): Alike[] {
  const found = new Map<string, Alike>();
  for (const one of pipelines) {
    const shape = JSON.stringify([
      one.vertices.map((vertex) => [vertex.parallelism, vertex.problem, vertex.nodes.map((node) => node.step)]),
      one.guarantees.map((each) => [each.guarantee, each.why]),
      one.sinks.map((sink) => [sink.problem, ...(sink.effects ?? []).map((effect) => [effect.action, effect.destructive])]),
    ]);
    const known = found.get(shape);
    if (known) known.names.push(one.name);
    else found.set(shape, { first: one, names: [one.name] });
  }
  return [...found.values()].sort((a, b) => b.names.length - a.names.length);
}

export function PlanTab({ run }: { run: string }) {
  const found = useAnswer<Plan>(`runs/${encodeURIComponent(run)}/plan`);
  if (found.data === null) {
    if (found.problem) return <section class="card"><Failed problem={found.problem} again={found.problem.status === 404 ? undefined : found.again} /></section>;
    return found.slow ? <Loading /> : null;
  }
  const plan = found.data;
  return (
    <>
      <section class="card" aria-label="plan">
        <div class="card-head">
          <h2>Plan as run</h2>
          <span class="faint">
            {plan.mode.toLowerCase()}, {counted(plan.steps.length, "step")}, {counted(plan.pipelines.length, "table")}
          </span>
        </div>
        <p class="mono faint file">
          <Name text={plan.file} most={120} />
        </p>
        <ol class="steps">
          {plan.steps.map((step) => (
            <li key={step.id} class={`step step-${step.kind}`}>
              <StepNames step={step} most={48} />
            </li>
          ))}
        </ol>
      </section>
      <PlanGroups pipelines={plan.pipelines} />
    </>
  );
}

/** The tables of a plan: those with equal shapes as one group. */
export function PlanGroups({ pipelines }: { pipelines: readonly PlanPipeline[] }) {
  return (
    <>
      {alike(pipelines).map((group) => (
        <Group key={group.first.id} group={group} />
      ))}
    </>
  );
}

function Group({ group }: { group: Alike }) {
  const [all, setAll] = useState(false);
  const { first, names } = group;
  const shown = all ? names.slice(0, 2000) : names.slice(0, SHOWN);
  const effects = first.sinks.flatMap((sink) => sink.effects ?? []);
  const unknown = [...first.vertices, ...first.sinks].filter((one) => one.problem);
  return (
    <section class="card" aria-label={names.length > 1 ? `${names.length} tables alike` : names[0]}>
      <div class="card-head">
        <h2>{names.length > 1 ? `${count(names.length)} tables like this` : <Name text={names[0] ?? ""} most={80} />}</h2>
      </div>
      {names.length > 1 ? (
        <p class="names">
          {shown.map((name) => (
            <span key={name} class="tag">
              <Name text={name} most={40} />
            </span>
          ))}
          {names.length > shown.length ? (
            <button type="button" class="quiet" onClick={() => setAll(true)}>
              and {count(names.length - shown.length)} more
            </button>
          ) : null}
        </p>
      ) : null}
      <dl class="plan-facts">
        {first.vertices.map((vertex) => (
          <div key={vertex.id}>
            <dt>{counted(vertex.parallelism, "subtask")}</dt>
            <dd>
              {vertex.nodes.map((node, at) => (
                <span key={node.id}>
                  {at > 0 ? <span class="faint"> → </span> : null}
                  <Name text={node.plugin} most={30} />
                  {node.target ? <span class="faint"> ({plainName(node.target)})</span> : null}
                </span>
              ))}
            </dd>
          </div>
        ))}
        {first.guarantees.map((one, at) => (
          <div key={at}>
            <dt>{one.guarantee}</dt>
            <dd>{plainName(one.why)}</dd>
          </div>
        ))}
        {unknown.map((one, at) => (
          <div key={at}>
            <dt class="tone-bad">problem</dt>
            <dd>{plainName([one.problem, one.remedy].filter(Boolean).join(". "))}</dd>
          </div>
        ))}
        {effects.map((one, at) => (
          <div key={at}>
            <dt class={one.destructive ? "tone-bad" : undefined}>{one.action}</dt>
            <dd>
              <Name text={one.target} most={80} />
              {one.statement ? <code class="statement">{plainName(one.statement)}</code> : null}
            </dd>
          </div>
        ))}
      </dl>
      <Columns pipeline={first} />
    </section>
  );
}

function Columns({ pipeline }: { pipeline: PlanPipeline }) {
  const nodes = pipeline.vertices.flatMap((vertex) => vertex.nodes).filter((node) => node.columns);
  const last = nodes[nodes.length - 1];
  if (!last?.columns) return null;
  return (
    <details>
      <summary>
        columns of <Name text={pipeline.name} most={60} /> at the target
      </summary>
      <div class="scroll">
        <table class="rows narrow">
          <thead>
            <tr>
              <th scope="col">Column</th>
              <th scope="col">Type</th>
            </tr>
          </thead>
          <tbody>
            {Object.entries(last.columns).map(([name, type]) => (
              <tr key={name}>
                <td>
                  <Name text={name} most={60} />
                </td>
                <td class="mono">{type}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}
