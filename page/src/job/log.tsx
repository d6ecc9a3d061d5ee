// The log of a run: windows of bytes, followed while the job runs. Only the lines in view are drawn.

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { ask, Problem } from "../api/client";
import type { LogWindow, RunState } from "../api/shapes";
import { connection, round } from "../api/stream";
import { Empty, Failed, Loading } from "../parts/views";
import { visible } from "../parts/windows";
import { useHeight } from "../state/height";
import { query, setQuery } from "../state/location";
import { bytes, counted, plainName } from "../text/format";

const LINE = 18;
const KEPT_LINES = 5000;
const WINDOW = 65_536;
const FOLLOW_MS = 1500;
const DOWNLOAD_WINDOWS = 256;
type Which = "output" | "job";

interface Read {
  lines: string[];
  next: string | null;
  /** Whether older lines were dropped from the view. */
  cut: boolean;
}

const pathOf = (run: string, of: Which, from: string): string =>
  `runs/${encodeURIComponent(run)}/log?of=${of}&from=${encodeURIComponent(from)}&bytes=${WINDOW}`;

/** The lines with those of another window; the oldest are dropped. Pure. */
export function joined(before: Read, more: LogWindow): Read {
  const all = [...before.lines, ...more.lines];
  return { lines: all.slice(-KEPT_LINES), next: more.next ?? before.next, cut: before.cut || all.length > KEPT_LINES };
}

export function LogTab({ run, state }: { run: string; state: RunState }) {
  const of: Which = query.value.get("of") === "job" ? "job" : "output";
  const [read, setRead] = useState<Read | null>(null);
  const [about, setAbout] = useState<LogWindow | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [follows, setFollows] = useState(true);
  const [at, setAt] = useState<"end" | "start">("end");
  const [tries, setTries] = useState(0);
  // A tab without a stream asks again and again; its log follows by itself.
  const turn = connection.value.is === "asking" ? 0 : round.value;
  const alive = state === "RUNNING" || state === "STALLED";

  useEffect(() => {
    const ending = new AbortController();
    setRead(null);
    setProblem(null);
    begin(run, of, at, ending.signal)
      .then(([found, window]) => {
        setRead(found);
        setAbout(window);
      })
      .catch((error: unknown) => {
        if (!ending.signal.aborted) setProblem(problemOf(error));
      });
    return () => ending.abort();
  }, [run, of, at, turn]);

  const next = read?.next ?? null;
  useEffect(() => {
    if (!follows || !alive || read === null || at === "start") return;
    const ending = new AbortController();
    const timer = window.setTimeout(() => {
      ask<LogWindow>(pathOf(run, of, next ?? `-${WINDOW}`), { signal: ending.signal })
        .then((more) => {
          setProblem(null);
          setAbout((before) => (more.generations.length > 0 ? more : before));
          setRead((before) => (before === null ? null : joined(before, more)));
        })
        .catch((error: unknown) => {
          if (ending.signal.aborted) return;
          const found = problemOf(error);
          // The part that would follow is gone: go on at the end.
          if (found.status === 410) setRead({ lines: [], next: null, cut: true });
          else setProblem(found);
          setTries((before) => before + 1);
        });
    }, FOLLOW_MS);
    return () => {
      window.clearTimeout(timer);
      ending.abort();
    };
  }, [follows, alive, read, next, run, of, at, tries]);

  const size = about?.generations.reduce((sum, one) => sum + one.bytes, 0) ?? 0;
  return (
    <section class="card log" aria-label="log">
      <div class="card-head">
        <div class="chips" role="group" aria-label="which log">
          <button type="button" class="chip" aria-pressed={of === "output"} onClick={() => setQuery({ of: "" }, "push")}>
            Output of the driver
          </button>
          <button type="button" class="chip" aria-pressed={of === "job"} onClick={() => setQuery({ of: "job" }, "push")}>
            Spark and workers
          </button>
        </div>
        <span class="faint num">{size > 0 ? bytes(size) : ""}</span>
        <span class="acts">
          <button type="button" onClick={() => setAt("start")} aria-pressed={at === "start"}>
            Start
          </button>
          <button type="button" onClick={() => { setAt("end"); setFollows(true); }} aria-pressed={at === "end"}>
            End
          </button>
          {alive ? (
            <button type="button" aria-pressed={follows} onClick={() => setFollows(!follows)}>
              {follows ? "Following" : "Follow"}
            </button>
          ) : null}
          <Download run={run} of={of} log={about} />
        </span>
      </div>
      {problem ? <Failed problem={problem} /> : null}
      {read === null && !problem ? <Loading rows={8} /> : null}
      {read !== null && read.lines.length === 0 ? <Nothing of={of} alive={alive} /> : null}
      {read !== null && read.lines.length > 0 ? <Lines read={read} follows={follows && at === "end"} scrolled={(atEnd) => { if (alive) setFollows(atEnd); }} /> : null}
    </section>
  );
}

const problemOf = (error: unknown): Problem => (error instanceof Problem ? error : new Problem(0, String(error)));

async function begin(run: string, of: Which, at: "end" | "start", signal: AbortSignal): Promise<[Read, LogWindow]> {
  const none: Read = { lines: [], next: null, cut: false };
  const end = await ask<LogWindow>(pathOf(run, of, `-${WINDOW}`), { signal });
  const first = end.generations[0]?.from;
  if (at === "end" || first === undefined) return [{ ...joined(none, end), cut: end.from !== first }, end];
  const start = await ask<LogWindow>(pathOf(run, of, first), { signal });
  return [joined(none, start), { ...start, generations: end.generations }];
}

function Nothing({ of, alive }: { of: Which; alive: boolean }) {
  if (of === "job") return <Empty title="There is no log of Spark."><p>A job without Spark writes to the output of its driver.</p></Empty>;
  return <Empty title="There is no output."><p>{alive ? "The driver has written nothing yet." : "Only drivers that this server has started leave their output here."}</p></Empty>;
}

function Lines({ read, follows, scrolled }: { read: Read; follows: boolean; scrolled: (atEnd: boolean) => void }) {
  const [top, setTop] = useState(0);
  const place = useRef<HTMLDivElement>(null);
  const height = useHeight(place, 400);
  const total = read.lines.length;
  const shown = visible(top, height, LINE, total, 8);
  const toEnd = useCallback(() => {
    if (place.current) place.current.scrollTop = place.current.scrollHeight;
  }, []);
  useEffect(() => {
    if (follows) toEnd();
  }, [follows, total, read]);
  const onScroll = () => {
    const box = place.current;
    if (!box) return;
    setTop(box.scrollTop);
    scrolled(box.scrollTop + box.clientHeight >= box.scrollHeight - LINE);
  };
  return (
    <>
      <div ref={place} class="log-lines mono" data-rows tabIndex={0} role="log" aria-live="off" aria-label="lines of the log" onScroll={onScroll}>
        <div style={{ height: `${total * LINE}px` }}>
          <div style={{ transform: `translateY(${shown.first * LINE}px)` }}>
            {read.lines.slice(shown.first, shown.end).map((line, at) => (
              <div key={shown.first + at} class={`log-line${levelOf(line)}`}>
                <bdi>{plainName(line) || " "}</bdi>
              </div>
            ))}
          </div>
        </div>
      </div>
      <p class="list-end faint num">
        {counted(total, "line")}
        {read.cut ? "; older ones are not shown" : ""}
      </p>
    </>
  );
}

/** The class of a line that is a warning or an error. */
function levelOf(line: string): string {
  const head = line.slice(0, 80);
  if (/\b(ERROR|FATAL|CRITICAL)\b/.test(head)) return " log-error";
  return /\bWARN(ING)?\b/.test(head) ? " log-warn" : "";
}

/** Saves the whole log, or its newest 16 MiB, as a file. */
function Download({ run, of, log }: { run: string; of: Which; log: LogWindow | null }) {
  const [busy, setBusy] = useState(false);
  if (!log || log.generations.length === 0) return null;
  const save = async () => {
    setBusy(true);
    try {
      const text = await wholeText(run, of, log);
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
      link.download = `${run}-${of}.log`;
      link.click();
      URL.revokeObjectURL(link.href);
    } finally {
      setBusy(false);
    }
  };
  return (
    <button type="button" disabled={busy} onClick={() => void save()}>
      {busy ? "Reading…" : "Download"}
    </button>
  );
}

async function wholeText(run: string, of: Which, log: LogWindow): Promise<string> {
  const size = log.generations.reduce((sum, one) => sum + one.bytes, 0);
  const most = DOWNLOAD_WINDOWS * WINDOW;
  let from: string = size > most ? `-${most}` : (log.generations[0]?.from ?? `-${most}`);
  const parts: string[] = [];
  for (let at = 0; at <= DOWNLOAD_WINDOWS; at += 1) {
    const found: LogWindow = await ask<LogWindow>(pathOf(run, of, from));
    parts.push(...found.lines);
    if (found.end || found.next === null || found.next === from) break;
    from = found.next;
  }
  return `${parts.join("\n")}\n`;
}
