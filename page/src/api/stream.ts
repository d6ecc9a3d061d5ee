// The one stream of a tab: the newest state of each topic. It is closed while the tab is hidden for longer than a
// minute, and opened again with a pause that differs from that of other tabs.

import { batch, signal } from "@preact/signals";
import { Problem, send, session } from "./client";
import { EventReader, pause } from "./events";
import { takeSlot } from "./slots";

export const HIDDEN_SECONDS = 60;
/** The server sends something at least every 15 s. */
const SILENT_SECONDS = 20;
/** Between two questions of a tab without a stream. */
const ASK_SECONDS = 3;

export type Connection = { is: "opening" | "open" | "asking" | "paused" } | { is: "lost"; since: number; why: string };

export const connection = signal<Connection>({ is: "opening" });
/** The newest message of each topic. */
export const newest = signal<Record<string, unknown>>({});
/** Grows when the page must read everything again: after a loss, a restart of the server, a hidden time. */
export const round = signal(0);

let topics = "";
let ending: AbortController | null = null;
let lastId = "";
let tries = 0;
let timer = 0;

/** Follow these topics, and only these. */
export function follow(wanted: readonly string[]): void {
  const next = [...wanted].sort().join(",");
  if (next === topics) return;
  topics = next;
  lastId = "";
  restart();
}

/** Close the stream, and forget what it has shown: the next login may be that of another person. */
function close(): void {
  topics = "";
  stop();
  newest.value = {};
  connection.value = { is: "opening" };
}

session.subscribe((known) => {
  if (known === "out") close();
});

function stop(): void {
  window.clearTimeout(timer);
  ending?.abort();
  ending = null;
}

function restart(): void {
  stop();
  if (topics !== "" && connection.peek().is !== "paused") void run();
}

async function run(): Promise<void> {
  const own = new AbortController();
  ending = own;
  const free = await takeSlot();
  if (own.signal.aborted) {
    free?.();
    return;
  }
  if (free === null) {
    askLater();
    return;
  }
  await stream(own).finally(free);
}

/** Without a stream: let the page ask now and then, and look for a slot again. */
function askLater(): void {
  connection.value = { is: "asking" };
  timer = window.setTimeout(() => {
    if (!document.hidden) round.value += 1;
    restart();
  }, ASK_SECONDS * 1000);
}

async function stream(own: AbortController): Promise<void> {
  let why = "the server has closed the stream";
  try {
    const headers: Record<string, string> = lastId ? { "Last-Event-ID": lastId } : {};
    const path = `live?topics=${encodeURIComponent(topics)}`;
    const answer = await send(path, { signal: own.signal, headers });
    opened();
    await read(answer, own);
  } catch (error) {
    if (own.signal.aborted && own.signal.reason !== "silent") return;
    why = own.signal.reason === "silent" ? "nothing has arrived for 20 s" : messageOf(error);
  }
  if (ending !== own || session.peek() === "out") return;
  lost(why);
}

function opened(): void {
  const again = connection.peek().is !== "opening";
  tries = 0;
  batch(() => {
    connection.value = { is: "open" };
    if (again) round.value += 1;
  });
}

async function read(answer: Response, own: AbortController): Promise<void> {
  const reader = new EventReader();
  const bytes = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const silent = window.setTimeout(() => own.abort("silent"), SILENT_SECONDS * 1000);
    const { value, done } = await bytes.read().finally(() => window.clearTimeout(silent));
    if (done) return;
    for (const event of reader.take(value)) {
      if (event.id) lastId = event.id;
      if (event.name === "reset") round.value += 1;
      else if (event.name !== "farewell") newest.value = { ...newest.peek(), [event.name]: JSON.parse(event.data) };
    }
  }
}

function lost(why: string): void {
  const before = connection.peek();
  connection.value = { is: "lost", since: before.is === "lost" ? before.since : Date.now(), why };
  tries += 1;
  timer = window.setTimeout(restart, pause(tries, Math.random()) * 1000);
}

/** Try at once, for the button of the bar. */
export function tryNow(): void {
  tries = 0;
  restart();
}

function messageOf(error: unknown): string {
  return error instanceof Problem || error instanceof Error ? error.message : String(error);
}

let hiding = 0;
document.addEventListener("visibilitychange", () => {
  window.clearTimeout(hiding);
  if (document.hidden) {
    hiding = window.setTimeout(() => {
      connection.value = { is: "paused" };
      stop();
    }, HIDDEN_SECONDS * 1000);
  } else if (connection.peek().is === "paused") {
    // Not "opening": what was missed meanwhile is read again.
    connection.value = { is: "lost", since: Date.now(), why: "the tab was hidden" };
    restart();
  }
});
