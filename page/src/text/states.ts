// The states with their words, shapes and colours. A state is never shown by its colour alone.

export type Shape = "hollow" | "half" | "arrow" | "ring" | "check" | "cross" | "broken" | "square" | "pause" | "question";
export type Tone = "idle" | "run" | "warn" | "good" | "bad" | "split" | "ended";

export interface StateLook {
  word: string;
  shape: Shape;
  tone: Tone;
}

const LOOKS: Record<string, StateLook> = {
  PENDING: { word: "pending", shape: "hollow", tone: "idle" },
  WAITING: { word: "queued", shape: "hollow", tone: "idle" },
  RUNNING: { word: "running", shape: "half", tone: "run" },
  RETRYING: { word: "retrying", shape: "arrow", tone: "warn" },
  COMMITTING: { word: "committing", shape: "ring", tone: "run" },
  DONE: { word: "done", shape: "check", tone: "good" },
  SUCCESS: { word: "succeeded", shape: "check", tone: "good" },
  FAILED: { word: "failed", shape: "cross", tone: "bad" },
  ROWS_FAILED_AGAIN: { word: "rows failed again", shape: "cross", tone: "bad" },
  ISOLATED: { word: "isolated", shape: "broken", tone: "split" },
  SOME_TABLES_FAILED: { word: "some tables failed", shape: "broken", tone: "split" },
  STOPPED: { word: "stopped", shape: "square", tone: "ended" },
  STALLED: { word: "stalled", shape: "pause", tone: "warn" },
  KILLED: { word: "killed", shape: "cross", tone: "bad" },
  "NOT ENDED": { word: "not ended", shape: "question", tone: "warn" },
  DROPPED: { word: "dropped", shape: "square", tone: "ended" },
  UNKNOWN: { word: "unknown", shape: "question", tone: "warn" },
  UNREADABLE: { word: "unreadable", shape: "question", tone: "warn" },
  GONE: { word: "gone", shape: "question", tone: "ended" },
};

export const lookOf = (state: string): StateLook =>
  LOOKS[state] ?? { word: state.toLowerCase().replaceAll("_", " "), shape: "question", tone: "idle" };

/** States of runs, those that need attention first. */
export const RUN_ORDER = ["FAILED", "ROWS_FAILED_AGAIN", "SOME_TABLES_FAILED", "KILLED", "STALLED", "NOT ENDED", "UNKNOWN", "UNREADABLE", "RUNNING", "STOPPED", "SUCCESS", "DROPPED"];
/** States of tables, in the order of a segment bar. */
export const TABLE_ORDER = ["DONE", "COMMITTING", "RUNNING", "RETRYING", "PENDING", "STOPPED", "ISOLATED", "FAILED"];

/** Words of a filter for tables: `state:isolated orders` asks for isolated tables with `orders` in their names. */
export function filterOf(text: string): { states: string[]; text: string } {
  const words = text.trim().split(/\s+/).filter(Boolean);
  const states = words.filter((word) => /^state:./i.test(word)).map((word) => word.slice(6).toUpperCase());
  return { states, text: words.filter((word) => !/^state:/i.test(word)).join(" ") };
}

/** The same filter with this state added, or removed if it was there. */
export function toggled(text: string, state: string): string {
  const found = filterOf(text);
  const states = found.states.includes(state) ? found.states.filter((one) => one !== state) : [...found.states, state];
  return [...states.map((one) => `state:${one.toLowerCase()}`), found.text].filter(Boolean).join(" ");
}
