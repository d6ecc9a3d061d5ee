// The log of a run: windows of bytes, followed while the job runs. Only the lines in view are drawn, so its size does not
// matter.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ask, Problem } from "../api/client";
import type { LogWindow, RunState } from "../api/shapes";
import { connection, round } from "../api/stream";
import { Empty, Failed, Loading } from "../parts/views";
import { visible } from "../parts/windows";
import { useNow } from "../state/asking";
import { useHeight } from "../state/size";
import { query, setQuery } from "../state/location";
import { usePrinting } from "../state/printing";
import { bytes, count, counted, plainName } from "../text/format";
import { before, found, joined, type LoadedLog, type LogPlace, type LogSpan, linesOf, NOTHING, WINDOW } from "./log_windows";

const LINE = 18;
const FOLLOW_MS = 1500;
const DOWNLOAD_WINDOWS = 256;
type Which = "output" | "job";

const pathOf = (run: string, of: Which, from: string, size = WINDOW): string =>
  `runs/${encodeURIComponent(run)}/log?of=${of}&from=${encodeURIComponent(from)}&bytes=${size}`;

export function LogTab({ run, state }: { run: string; state: RunState }) {
  const of: Which = query.value.get("of") === "job" ? "job" : "output";
  const [read, setRead] = useState<LoadedLog | null>(null);
  const [about, setAbout] = useState<LogWindow | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [follows, setFollows] = useState(true);
  const [at, setAt] = useState<LogPlace>({ is: "end" });
  const [tries, setTries] = useState(0);
  const [looks, setLooks] = useState(0);
  // A tab without a stream asks again and again; its log follows by itself.
  const turn = connection.value.is === "asking" ? 0 : round.value;
  const alive = state === "RUNNING" || state === "STALLED";

  useEffect(() => {
    const ending = new AbortController();
    setProblem(null);
    begin(run, of, at, ending.signal)
      .then(([found, window]) => {
        setRead(found);
        setAbout(window);
        setLooks((before) => before + 1);
      })
      .catch((error: unknown) => {
        if (!ending.signal.aborted) setProblem(problemOf(error));
      });
    return () => ending.abort();
  }, [run, of, at, turn]);

  const next = read?.next ?? null;
  useEffect(() => {
    if (!follows || !alive || read === null || at.is !== "end") return;
    const ending = new AbortController();
    const timer = window.setTimeout(() => {
      further(run, of, next, ending.signal)
        .then(([more, whole]) => {
          setProblem(null);
          setAbout((before) => (more.generations.length > 0 ? more : before));
          setRead((before) => (before === null ? null : joined(before, more, whole)));
        })
        .catch((error: unknown) => {
          if (ending.signal.aborted) return;
          const found = problemOf(error);
          // The part that would follow is gone: go on at the end.
          if (found.status === 410) setRead({ ...NOTHING, cut: true });
          else setProblem(found);
          setTries((before) => before + 1);
        });
    }, FOLLOW_MS);
    return () => {
      window.clearTimeout(timer);
      ending.abort();
    };
  }, [follows, alive, read, next, run, of, at, tries]);

  const earlier = before(read?.parts[0]?.from, about?.generations ?? []);
  const later: LogSpan | null = about && !about.end && next ? { is: "from", position: next, bytes: WINDOW, cuts: false } : null;
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
          <button type="button" onClick={() => setAt({ is: "start" })} aria-pressed={at.is === "start"}>
            Start
          </button>
          <button type="button" disabled={earlier === null} onClick={() => { if (earlier) setAt(earlier); }}>
            Earlier
          </button>
          <button type="button" disabled={later === null} onClick={() => { if (later) setAt(later); }}>
            Later
          </button>
          <button type="button" onClick={() => { setAt({ is: "end" }); setFollows(true); }} aria-pressed={at.is === "end"}>
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
      {read !== null && read.parts.length === 0 ? <Nothing of={of} alive={alive} /> : null}
      {read !== null && read.parts.length > 0 ? <Lines read={read} look={looks} follows={follows && at.is === "end"} scrolled={(atEnd) => { if (alive) setFollows(atEnd); }} /> : null}
    </section>
  );
}

const problemOf = (error: unknown): Problem => (error instanceof Problem ? error : new Problem(0, String(error)));

async function begin(run: string, of: Which, at: LogPlace, signal: AbortSignal): Promise<[LoadedLog, LogWindow]> {
  if (at.is === "from") {
    const found = await ask<LogWindow>(pathOf(run, of, at.position, at.bytes), { signal });
    // A line may be longer than a window: then a part of it is all that there is.
    const lines = at.cuts && found.lines.length > 1 ? found.lines.slice(1) : found.lines;
    return [{ ...joined(NOTHING, { ...found, lines }), cut: !found.from?.endsWith(":0") }, found];
  }
  const end = await ask<LogWindow>(pathOf(run, of, `-${WINDOW}`), { signal });
  const first = end.generations[0]?.from;
  if (at.is === "end" || first === undefined) return [{ ...joined(NOTHING, end), cut: end.from !== first }, end];
  const start = await ask<LogWindow>(pathOf(run, of, first), { signal });
  return [joined(NOTHING, start), { ...start, generations: end.generations }];
}

/** The window that follows, and whether it does: a log that grows more quickly than it is shown goes on at its end. */
async function further(run: string, of: Which, next: string | null, signal: AbortSignal): Promise<[LogWindow, boolean]> {
  const newest = () => ask<LogWindow>(pathOf(run, of, `-${WINDOW}`), { signal });
  if (next === null) return [await newest(), true];
  const more = await ask<LogWindow>(pathOf(run, of, next), { signal });
  return more.end ? [more, true] : [await newest(), false];
}

function Nothing({ of, alive }: { of: Which; alive: boolean }) {
  if (of === "job") return <Empty title="There is no log of Spark."><p>A job without Spark writes to the output of its driver.</p></Empty>;
  return <Empty title="There is no output."><p>{alive ? "The driver has written nothing yet." : "Only drivers that this server has started leave their output here."}</p></Empty>;
}

/** `look`: another one begins at its first line, or at the first one with the text that is searched for. */
function Lines({ read, look, follows, scrolled }: { read: LoadedLog; look: number; follows: boolean; scrolled: (atEnd: boolean) => void }) {
  const [top, setTop] = useState(0);
  const [text, setText] = useState("");
  const [hit, hitNow, setHit] = useNow(0);
  const place = useRef<HTMLDivElement>(null);
  const height = useHeight(place, 400);
  const lines = useMemo(() => linesOf(read), [read]);
  const hits = useMemo(() => found(lines, text), [lines, text]);
  const total = lines.length;
  const printed = usePrinting(() => true);
  const shown = printed ? { first: 0, end: total } : visible(top, height, LINE, total, 8);
  useEffect(() => {
    if (follows && text === "" && place.current) place.current.scrollTop = place.current.scrollHeight;
  }, [follows, total, read]);
  const show = (number: number) => {
    const at = hits[((number % hits.length) + hits.length) % hits.length];
    if (at === undefined || !place.current) return;
    setHit(hits.indexOf(at));
    place.current.scrollTop = Math.max(0, at * LINE - height / 2);
  };
  useEffect(() => {
    if (text !== "") show(0);
    else if (!follows && place.current) place.current.scrollTop = 0;
  }, [text, look]);
  const onScroll = () => {
    const box = place.current;
    if (!box) return;
    setTop(box.scrollTop);
    scrolled(box.scrollTop + box.clientHeight >= box.scrollHeight - LINE);
  };
  return (
    <>
      <p class="log-find">
        <input data-filter class="filter" type="search" placeholder="Find in these lines" aria-label="find in these lines; Enter goes on" onInput={(event) => setText(event.currentTarget.value)} onKeyDown={(event) => { if (event.key === "Enter") show(hitNow() + (event.shiftKey ? -1 : 1)); }} />
        <span class="faint num" role="status">
          {text === "" ? "" : hits.length === 0 ? "not in these lines" : `${count(hit + 1)} of ${count(hits.length)}`}
        </span>
      </p>
      <div ref={place} class="log-lines mono" data-rows tabIndex={0} role="log" aria-live="off" aria-label="lines of the log" onScroll={onScroll}>
        <div style={{ height: `${total * LINE}px` }}>
          <div style={{ transform: `translateY(${shown.first * LINE}px)` }}>
            {lines.slice(shown.first, shown.end).map((line, at) => (
              <div key={shown.first + at} class={`log-line${levelOf(line)}${shown.first + at === hits[hit] ? " log-hit" : ""}`}>
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
