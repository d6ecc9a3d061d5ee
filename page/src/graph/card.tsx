// The steps of a run and the rows between them. The server computes the places; the page only draws.

import { useEffect, useRef, useState } from "preact/hooks";
import type { Graph, GraphNode, Plan, RunHead } from "../api/shapes";
import { SegmentBar, StepNames } from "../parts/marks";
import { Failed, Loading } from "../parts/views";
import { useAnswer } from "../state/asking";
import { brief, counted } from "../text/format";
import { tally } from "../text/sentences";

export function GraphCard({ run, head, turn }: { run: string; head: RunHead; turn: number }) {
  // An older server has no graphs; a run that has just begun has none yet.
  const [missing, setMissing] = useState(false);
  const found = useAnswer<Graph>(missing ? null : `runs/${encodeURIComponent(run)}/graph`, turn);
  useEffect(() => {
    if (found.problem?.kind === "unknown-path") setMissing(true);
  }, [found.problem]);
  return (
    <section class="card graph-card" aria-label="steps">
      <div class="card-head">
        <h2>Steps</h2>
      </div>
      {missing || (!found.data && found.problem?.status === 404) ? <StepList run={run} head={head} turn={turn} /> : null}
      {!missing && found.data ? <Drawing graph={found.data} /> : null}
      {!missing && !found.data && found.problem && found.problem.status !== 404 ? <Failed problem={found.problem} again={found.again} /> : null}
      {!missing && !found.data && found.slow ? <Loading rows={3} /> : null}
    </section>
  );
}

/** At most 1.2 times the size that the server has computed: two boxes do not fill a screen. */
const SCALE_MAX = 1.2;

export function Drawing({ graph }: { graph: Graph }) {
  return (
    <div class="drawing">
      <svg viewBox={`0 0 ${graph.width} ${graph.height}`} width={graph.width * SCALE_MAX} role="img" aria-label={`graph of ${counted(graph.nodes.length, "step")}`}>
        <defs>
          <marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="9" markerHeight="9" markerUnits="userSpaceOnUse" orient="auto">
            <path d="M0 0l8 4-8 4z" class="arrow" />
          </marker>
        </defs>
        {graph.edges.map((edge, at) => (
          <Edge key={at} points={edge.points} rows={edge.rows} />
        ))}
        {graph.nodes.map((node) => (
          <Node key={node.id} node={node} />
        ))}
      </svg>
    </div>
  );
}

/** The width of an edge grows with the logarithm of its rows. */
const widthOf = (rows: number | null): number => (rows === null ? 1.2 : 1.2 + Math.min(4, Math.log10(1 + rows) * 0.6));

function Edge({ points, rows }: { points: [number, number][]; rows: number | null }) {
  const path = points.map(([x, y], at) => `${at === 0 ? "M" : "L"}${x} ${y}`).join("");
  const [x, y] = middle(points);
  return (
    <g class={rows === null ? "edge unknown" : "edge"}>
      <path d={path} stroke-width={widthOf(rows)} marker-end="url(#arrow)" />
      {rows === null ? null : (
        <text x={x} y={y - 6} text-anchor="middle" class="num">
          {brief(rows)}
        </text>
      )}
    </g>
  );
}

function middle(points: [number, number][]): [number, number] {
  const at = Math.floor((points.length - 1) / 2);
  const a: [number, number] = points[at] ?? [0, 0];
  const b: [number, number] = points[at + 1] ?? a;
  return [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2];
}

function Node({ node }: { node: GraphNode }) {
  const { all, bad } = tally(node.tables);
  const most = Math.max(8, Math.floor(node.width / 7.5));
  const rows = node.kind === "source" ? node.rows_out : node.rows_in;
  return (
    <g class={`node node-${node.kind}`} transform={`translate(${node.x} ${node.y})`}>
      <title>{node.id}</title>
      <rect width={node.width} height={node.height} rx={6} />
      <rect width={4} height={node.height} rx={2} class="node-kind" />
      <text x={14} y={18} class="node-plugin">
        {clipped(node.plugin, most)}
      </text>
      <text x={14} y={34} class="node-label">
        {clipped(node.folded > 1 ? `${node.folded} alike` : node.label, most)}
      </text>
      {node.height >= 50 ? (
        <text x={14} y={node.height - 8} class={bad > 0 ? "node-rows num bad" : "node-rows num"}>
          {clipped([rows === null ? "" : `${brief(rows)} rows`, bad > 0 ? `${bad} of ${all} failed` : all > 0 ? counted(all, "table") : ""].filter(Boolean).join(" · "), most + 4)}
        </text>
      ) : null}
    </g>
  );
}

const clipped = (text: string, most: number): string => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

/** Where the server has no graph: the steps of the plan in their order. */
function StepList({ run, head, turn }: { run: string; head: RunHead; turn: number }) {
  const known = useRef(0);
  const found = useAnswer<Plan>(`runs/${encodeURIComponent(run)}/plan`, known.current || turn);
  if (found.data !== null && known.current === 0) known.current = -1;
  if (found.data === null) {
    if (found.problem === null) return null;
    return <p class="none">Not available: no graph and no plan of this run is stored.</p>;
  }
  const totals = head.receipt?.totals ?? head.counters?.totals;
  return (
    <ol class="steps">
      {found.data.steps.map((step) => (
        <li key={step.id} class={`step step-${step.kind}`}>
          <StepNames step={step} most={40} />
          {step.kind === "source" ? <span class="step-rows num">{brief(totals?.rows_read)} rows read</span> : null}
          {step.kind === "sink" ? <span class="step-rows num">{brief(totals?.rows_written)} rows written</span> : null}
          {step.kind === "sink" ? <SegmentBar tables={head.tables} wide /> : null}
        </li>
      ))}
    </ol>
  );
}
