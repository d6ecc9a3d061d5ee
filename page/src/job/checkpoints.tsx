// The checkpoints of a run: a strip of bars over time, and a table with the phases.

import type { Attempt, AttemptList, LiveRun } from "../api/shapes";
import { Name, When } from "../parts/marks";
import { Empty, Shown } from "../parts/views";
import { useAnswer } from "../state/asking";
import { zone } from "../state/choices";
import { bytes, clock, count, counted, duration, plainName } from "../text/format";
import { useSlowly } from "./overview";

const ASKED = 200;

export function CheckpointsTab({ run, live }: { run: string; live: LiveRun | undefined }) {
  const turn = useSlowly(live?.live?.checkpoint ?? live?.state);
  const found = useAnswer<AttemptList>(`runs/${encodeURIComponent(run)}/checkpoints?limit=${ASKED}`, turn);
  return (
    <section class="card" aria-label="checkpoints">
      <Shown of={found}>{(data) => (data.attempts.length === 0 ? <Empty title="No checkpoint has been taken yet." /> : <Checkpoints list={data} />)}</Shown>
    </section>
  );
}

function Checkpoints({ list }: { list: AttemptList }) {
  const newestFirst = [...list.attempts].sort((a, b) => b.triggered - a.triggered);
  const shown = list.attempts.length;
  return (
    <>
      <div class="card-head">
        <h2>Checkpoints</h2>
        <span class="faint num">
          {count(list.completed)} completed{list.failed ? `, ${count(list.failed)} given up` : ""}
          {shown < list.completed + list.failed ? `; the newest ${count(shown)} are shown` : ""}
        </span>
      </div>
      <Strip attempts={list.attempts} />
      <div class="scroll tall" data-rows tabIndex={0} role="group" aria-label="checkpoints">
        <table class="rows">
          <thead>
            <tr>
              <th scope="col" class="right">No.</th>
              <th scope="col">Table</th>
              <th scope="col">Kind</th>
              <th scope="col">Triggered</th>
              <th scope="col" class="right" title="until the last subtask has answered">Align</th>
              <th scope="col" class="right" title="until the state is stored">Store</th>
              <th scope="col" class="right" title="until the sinks have committed">Commit</th>
              <th scope="col" class="right">Size</th>
              <th scope="col" class="right">Rows</th>
              <th scope="col">Slowest subtask</th>
              <th scope="col">Result</th>
            </tr>
          </thead>
          <tbody>
            {newestFirst.map((one) => (
              <tr key={`${one.driver} ${one.pipeline} ${one.checkpoint}`}>
                <td class="right num">{one.checkpoint}</td>
                <td>
                  <Name text={one.table || one.pipeline} most={36} />
                </td>
                <td>
                  {one.kind}
                  {one.savepoint ? <span class="tag">{one.savepoint}</span> : null}
                </td>
                <td>
                  <When at={one.triggered} />
                </td>
                <td class="right num">{duration(one.phases.align)}</td>
                <td class="right num">{duration(one.phases.store)}</td>
                <td class="right num">{duration(one.phases.commit)}</td>
                <td class="right num">{bytes(one.bytes)}</td>
                <td class="right num">{count(one.rows)}</td>
                <td class="mono">
                  <Name text={one.slowest} most={40} />
                </td>
                <td>{one.completed ? <span class="tone-good">completed</span> : <span class="tone-bad">{plainName(one.reason) || "given up"}</span>}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

const WIDTH = 1000;
const HEIGHT = 72;

/** One bar for each attempt at its time: the height is its duration, savepoints have a flag. */
function Strip({ attempts }: { attempts: Attempt[] }) {
  const first = Math.min(...attempts.map((one) => one.triggered));
  const last = Math.max(...attempts.map((one) => one.ended || one.triggered));
  const most = Math.max(0.001, ...attempts.map((one) => one.seconds));
  const along = (at: number) => ((at - first) / Math.max(0.001, last - first)) * (WIDTH - 12) + 6;
  return (
    <figure class="strip">
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={`${counted(attempts.length, "checkpoint")} between ${clock(first, zone.value)} and ${clock(last, zone.value)}; the longest took ${duration(most)}`}>
        {attempts.map((one, at) => {
          const height = Math.max(3, (one.seconds / most) * (HEIGHT - 12));
          return (
            <g key={at} class={one.completed ? "bar" : "bar bar-bad"}>
              <title>{`#${one.checkpoint} ${one.table}: ${duration(one.seconds)}`}</title>
              <rect x={along(one.triggered) - 2} y={HEIGHT - height} width={4} height={height} />
              {one.savepoint ? <path d={`M${along(one.triggered) - 2} ${HEIGHT - height - 2}v-8l8 4z`} class="flag" /> : null}
            </g>
          );
        })}
      </svg>
      <figcaption class="faint num">
        <span>{clock(first, zone.value)}</span>
        <span>longest {duration(most)}</span>
        <span>{clock(last, zone.value)}</span>
      </figcaption>
    </figure>
  );
}
