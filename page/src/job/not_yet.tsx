// A run that the home does not have: it waits in the queue, or its driver begins, or that has ended before it began the
// job; or there is none of that id.

import type { QueueList, Start } from "../api/shapes";
import { Name } from "../parts/marks";
import { Empty, Failed, Loading } from "../parts/views";
import { useAnswer } from "../state/asking";
import { linkTo } from "../state/location";
import { plainName } from "../text/format";

const ENDED: Start["state"][] = ["ENDED", "NOT_STARTED", "DROPPED"];

/** The first line about a start. Pure. */
export function startSentence(start: Start, waitsFor: string): string {
  if (start.state === "WAITING") return waitsFor ? `The start waits: ${waitsFor}` : "The start waits in the queue.";
  if (start.state === "DROPPED") return "The start was taken out of the queue.";
  if (!ENDED.includes(start.state)) return "The driver begins…";
  if (start.signal !== null) return `The driver was ended by signal ${start.signal} before it began the job.`;
  if (start.exit_code !== null) return `The driver ended with exit code ${start.exit_code} before it began the job.`;
  return "No driver has come for this start.";
}

/** `turn`: grows with each look for the run. */
export function NotYet({ run, turn }: { run: string; turn: number }) {
  const id = encodeURIComponent(run);
  const found = useAnswer<Start>(`runs/${id}/start`, turn);
  const queue = useAnswer<QueueList>(found.data?.state === "WAITING" ? "queue" : null, turn);
  const name = (
    <p class="mono faint">
      <Name text={run} most={80} />
    </p>
  );
  const back = (
    <p>
      <a href={linkTo()}>Go to the list of jobs</a>
    </p>
  );
  if (found.data === null) {
    if (found.problem?.status === 404) return <Empty title="This home has no run of that id.">{name}{back}</Empty>;
    return found.problem ? <Failed problem={found.problem} again={found.again} /> : found.slow ? <Loading rows={3} /> : null;
  }
  const waitsFor = queue.data?.queue.find((one) => one.job_id === run)?.waits_for ?? "";
  const title = startSentence(found.data, waitsFor);
  if (!ENDED.includes(found.data.state)) return <Empty title={title}>{name}<Loading rows={3} /></Empty>;
  return (
    <>
      <Empty title={title}>
        {name}
        {back}
      </Empty>
      {found.data.output.length > 0 ? (
        <section class="card" aria-label="output of the driver">
          <div class="card-head">
            <h2>Output of the driver</h2>
          </div>
          <pre class="output mono">{found.data.output.map(plainName).join("\n")}</pre>
        </section>
      ) : null}
    </>
  );
}
