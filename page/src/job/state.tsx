// The state that a run keeps: its savepoints and checkpoints, and the acts that go on from one of them. Each act is
// announced first; the address holds which one is asked for.

import { useState } from "preact/hooks";
import type { Definition, LiveRun, RunHead, Start } from "../api/shapes";
import type { KeptCheckpoint, KeptList, SavepointList } from "../api/stored_shapes";
import { ActButton, type Progress } from "../parts/acts";
import { Announcement } from "../parts/announcement";
import { Choice } from "../parts/choice";
import { FilterField } from "../parts/filter";
import { Name, When } from "../parts/marks";
import { Pages } from "../parts/pages";
import { Empty, Shown } from "../parts/views";
import { useAnswer, useCostlyAnswer } from "../state/asking";
import { go, linkTo, query, setQuery } from "../state/location";
import { count, counted, plainName } from "../text/format";
import { ENDED } from "./acts";

interface Props {
  head: RunHead;
  live: LiveRun | undefined;
  progress: Progress;
  report: (progress: Progress) => void;
}

/** Ask for an act; an empty value ends the asking. */
const asking = (ask: string, of: Record<string, string> = {}): void => setQuery({ ask, savepoint: "", checkpoint: "", of: "", revision: "", ...of }, "push");
const noMore = (): void => asking("");

export function StateTab({ head, live, progress, report }: Props) {
  const run = encodeURIComponent(head.job_id);
  const ended = ENDED.includes(head.state);
  const turn = `${live?.state} ${progress.is}`;
  const start = useAnswer<Start>(`runs/${run}/start`, head.state);
  return (
    <>
      <Asked head={head} start={start.data} report={report} />
      <Savepoints head={head} turn={turn} report={report} startable={start.data !== null} />
      <Kept run={run} turn={turn} ended={ended} />
    </>
  );
}

function Asked({ head, start, report }: { head: RunHead; start: Start | null; report: Props["report"] }) {
  const asked = query.value;
  const run = encodeURIComponent(head.job_id);
  const ended = ENDED.includes(head.state);
  const [ask, savepoint, checkpoint, table] = [asked.get("ask"), asked.get("savepoint") ?? "", asked.get("checkpoint") ?? "", asked.get("of") ?? ""];
  if (ask === "restore" && ended) return <Restore run={run} start={start} report={report} />;
  if (ask === "rewind" && ended && /^-?\d+$/.test(checkpoint)) {
    const body = { checkpoint: Number(checkpoint), tables: table ? [table] : [] };
    const title = body.checkpoint < 0 ? "The next driver would begin one checkpoint before the newest:" : `The next driver would begin at checkpoint ${body.checkpoint}:`;
    const done = () => {
      report({ is: "done", what: "The next driver begins there. Restore the run to start it." });
      asking("restore");
    };
    return <Announcement key={`${checkpoint} ${table}`} title={title} path={`runs/${run}/rewind`} body={body} label="Rewind" asked="asked to rewind" none="Nothing: all tables stand there." idle report={report} then={done} close={noMore} />;
  }
  if (ask === "start" && savepoint && start) {
    const path = `definitions/${encodeURIComponent(start.definition)}/runs`;
    const title = `A new run of ${plainName(start.definition)} from the savepoint ${plainName(savepoint)} would do this:`;
    return <Announcement key={savepoint} title={title} path={path} body={{ restore: savepoint }} label="Start a new run from it" asked={`asked to start ${start.definition}`} none="Nothing." report={report} then={(answer) => go(linkTo(answer.job_id))} close={noMore} />;
  }
  return null;
}

/** A restore, with the revision that the run had or with the newest one. */
function Restore({ run, start, report }: { run: string; start: Start | null; report: Props["report"] }) {
  const found = useAnswer<Definition>(start ? `definitions/${encodeURIComponent(start.definition)}` : null);
  const [own, newest] = [start?.revision, found.data?.newest.number];
  const chosen = query.value.get("revision") ?? "";
  const body = chosen ? { revision: Number(chosen) } : {};
  const asked = () => report({ is: "asked", what: "asked to restore from the newest checkpoint" });
  return (
    <>
      {own !== undefined && newest !== undefined && newest !== own ? (
        <p class="note">
          restore with{" "}
          <Choice label="revision of the job file" value={chosen} of={[["", `revision ${own}, as it ran`], [String(newest), `revision ${newest}, the newest`]]} chosen={(revision) => setQuery({ revision }, "push")} />
        </p>
      ) : null}
      <Announcement
        key={chosen}
        title="A restore from the newest checkpoint would do this:"
        path={`runs/${run}/restore`}
        body={body}
        label="Restore"
        asked="asked to restore from the newest checkpoint"
        none="Nothing: the run has not begun, so it begins."
        report={report}
        then={() => {
          asked();
          noMore();
        }}
        close={noMore}
      />
    </>
  );
}

function Savepoints({ head, turn, report, startable }: { head: RunHead; turn: string; report: Props["report"]; startable: boolean }) {
  const run = encodeURIComponent(head.job_id);
  const after = query.value.get("saved") ?? "";
  const found = useAnswer<SavepointList>(`runs/${run}/savepoints?limit=50&after=${encodeURIComponent(after)}`, turn);
  const [name, setName] = useState("");
  return (
    <section class="card" aria-label="savepoints">
      <div class="card-head">
        <h2>Savepoints</h2>
        {head.state === "RUNNING" ? (
          <span class="acts">
            <input aria-label="name of the next savepoint" placeholder="name, if you want one" value={name} maxLength={100} onInput={(event) => setName(event.currentTarget.value)} />
            <ActButton label="Take one now" path={`runs/${run}/savepoint`} body={name ? { name } : {}} asked="asked for a savepoint" report={report} hint="Save the state of all tables now; the job goes on." />
          </span>
        ) : null}
      </div>
      <Shown of={found} rows={2}>
        {(data) =>
          data.total === 0 ? (
            <Empty title="This run has no savepoint.">{head.state === "RUNNING" ? null : <p>Only a running job can take one.</p>}</Empty>
          ) : (
            <>
              <div class="scroll" tabIndex={0} role="group" aria-label="savepoints">
                <table class="rows">
                  <thead>
                    <tr>
                      <th scope="col">Name</th>
                      <th scope="col">Taken</th>
                      <th scope="col" class="right">Tables</th>
                      <th scope="col"><span class="unseen">Acts</span></th>
                    </tr>
                  </thead>
                  <tbody>
                    {data.savepoints.map((one) => (
                      <tr key={one.name}>
                        <td class="mono">
                          <Name text={one.name} most={60} />
                        </td>
                        <td>{one.taken ? <When at={one.taken} /> : "–"}</td>
                        <td class="right num">{count(one.tables)}</td>
                        <td class="acts-cell">
                          {one.damaged ? <span class="tone-bad">{plainName(one.damaged)}</span> : null}
                          {startable && !one.damaged ? (
                            <button type="button" onClick={() => asking("start", { savepoint: one.name })}>
                              New run from it…
                            </button>
                          ) : null}
                        </td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </div>
              <Pages list={data} cursor="saved" noun="savepoint" />
            </>
          )
        }
      </Shown>
    </section>
  );
}

function Kept({ run, turn, ended }: { run: string; turn: string; ended: boolean }) {
  const [text, after] = [query.value.get("q") ?? "", query.value.get("after") ?? ""];
  const asked = new URLSearchParams({ limit: "50", q: text, after });
  const found = useCostlyAnswer<KeptList>(`runs/${run}/state?${asked}`, ended ? turn : "running");
  return (
    <section class="card" aria-label="kept checkpoints">
      <div class="card-head">
        <h2>Kept checkpoints</h2>
        <span class="faint">{ended ? "the newest of each table is where it goes on" : "as they were when this was opened"}</span>
        {ended && found.data && found.data.total > 0 ? (
          <span class="acts">
            <button type="button" onClick={() => asking("rewind", { checkpoint: "-1" })}>
              Rewind all by one…
            </button>
          </span>
        ) : null}
        {found.data && (found.data.total > 1 || text) ? <FilterField text={text} hint="Filter by table" label="filter kept checkpoints by table" pause={200} /> : null}
      </div>
      <Shown of={found} rows={3}>
        {(data) =>
          data.tables.length === 0 ? (
            <Empty title={text ? "No table matches the filter." : "No checkpoint is kept."}>{text ? null : <p>A run that has ended well needs none; one that has just begun has none yet.</p>}</Empty>
          ) : (
            <>
              <div class="scroll" data-rows tabIndex={0} role="group" aria-label="kept checkpoints">
                <table class="rows">
                  <thead>
                    <tr>
                      <th scope="col">Table</th>
                      <th scope="col" class="right">No.</th>
                      <th scope="col">Kind</th>
                      <th scope="col" class="right">Driver</th>
                      <th scope="col" class="right">Rows read</th>
                      <th scope="col" class="right" title="splits read to their end">Splits done</th>
                      <th scope="col"><span class="unseen">Acts</span></th>
                    </tr>
                  </thead>
                  {data.tables.map((table) => (
                    <tbody key={table.table}>
                      {[...table.checkpoints].reverse().map((one, at) => (
                        <KeptLine key={one.checkpoint} table={table.table} one={one} newest={at === 0} ended={ended} />
                      ))}
                    </tbody>
                  ))}
                </table>
              </div>
              <Pages list={data} cursor="after" noun="table" />
            </>
          )
        }
      </Shown>
    </section>
  );
}

function KeptLine({ table, one, newest, ended }: { table: string; one: KeptCheckpoint; newest: boolean; ended: boolean }) {
  return (
    <tr>
      <td>{newest ? <Name text={table} most={48} /> : null}</td>
      <td class="right num">{one.checkpoint}</td>
      <td>
        {one.kind} {one.name ? <span class="tag"><Name text={one.name} most={40} /></span> : null}{" "}
        {one.uncommitted ? <span class="faint">{counted(one.uncommitted, "commit")} open</span> : null}
        {one.why ? <span class="tone-bad"> {plainName(one.why)}</span> : null}
      </td>
      <td class="right num">{one.driver}</td>
      <td class="right num">{count(one.rows_read)}</td>
      <td class="right num" title={counted(one.splits, "split")}>{`${count(one.finished)} of ${count(one.splits)}`}</td>
      <td class="acts-cell">
        {ended && !newest ? (
          <button type="button" onClick={() => asking("rewind", { checkpoint: String(one.checkpoint), of: table })}>
            Rewind to it…
          </button>
        ) : newest && ended ? <span class="faint">goes on here</span> : null}
      </td>
    </tr>
  );
}
