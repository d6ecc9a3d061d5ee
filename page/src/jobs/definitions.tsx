// The stored job files, each with its start button.

import { useEffect, useState } from "preact/hooks";
import type { DefinitionList, DefinitionRow } from "../api/shapes";
import { ActButton, ProgressLine, type Progress } from "../parts/acts";
import { Ago, Name } from "../parts/marks";
import { Pages } from "../parts/pages";
import { Shown } from "../parts/views";
import { useAnswer } from "../state/asking";
import { zone } from "../state/choices";
import { now } from "../state/clock";
import { go, linkTo, linkToEditor, query } from "../state/location";
import { age, counted, whenExactly } from "../text/format";

const SHOWN = 6;

/** How long until a schedule starts it next, with the exact time on hover. */
function NextStart({ of }: { of: DefinitionRow }) {
  if (of.schedules === 0) return null;
  if (of.next_start === null) return <span class="next-start">no next start</span>;
  return (
    <time class="next-start num" dateTime={new Date(of.next_start * 1000).toISOString()} title={whenExactly(of.next_start, zone.value)}>
      next start in {age(of.next_start - now.value)}
    </time>
  );
}

export function Definitions() {
  const after = query.value.get("stored") ?? "";
  const [passed, setPassed] = useState(0);
  const found = useAnswer<DefinitionList>(`definitions?limit=${SHOWN}&after=${encodeURIComponent(after)}`, passed);
  const next = Math.min(...(found.data?.definitions ?? []).map((one) => one.next_start ?? Infinity));
  const due = next <= now.value;
  useEffect(() => {
    if (due) setPassed(next); // another time is the next one by now
  }, [due, next]);
  const [progress, setProgress] = useState<Progress>({ is: "ready" });
  if (found.data && found.data.total === 0) return null;
  return (
    <section class="card" aria-label="stored job files">
      <div class="card-head">
        <h2>Stored job files</h2>
        {found.data ? <span class="faint num">{counted(found.data.total, "file")}</span> : null}
      </div>
      <ProgressLine progress={progress} close={() => setProgress({ is: "ready" })} />
      <Shown of={found} rows={2}>
        {(data) => (
          <ul class="stored">
            {data.definitions.map((one) => (
              <li key={one.id}>
                <span class="mono">
                  <Name text={one.id} most={40} />
                </span>
                <NextStart of={one} />
                <span class="faint">
                  revision {one.newest.number}, <Ago at={one.newest.at} /> by <Name text={one.newest.author} most={24} />
                </span>
                <a class="edit-link" href={linkToEditor(one.id)} title="text, problems and revisions">
                  Edit
                </a>
                <a href={linkToEditor(one.id, { view: "plan" })} title="the run in advance, with its start">
                  Plan
                </a>
                <ActButton label="Start" path={`definitions/${encodeURIComponent(one.id)}/runs`} asked={`asked to start ${one.id}`} report={setProgress} then={(answer) => go(linkTo(answer.job_id))} />
              </li>
            ))}
          </ul>
        )}
      </Shown>
      {found.data ? <Pages list={found.data} cursor="stored" /> : null}
    </section>
  );
}
