// Small parts that show a state, a share of tables, and a time.

import type { Counts } from "../api/shapes";
import { zone } from "../state/choices";
import { now } from "../state/clock";
import { age, count, cut, plainName, when, whenExactly } from "../text/format";
import { lookOf, TABLE_ORDER, type Shape } from "../text/states";

const PATHS: Record<Shape, string> = {
  hollow: "M8 3a5 5 0 1 1 0 10A5 5 0 0 1 8 3z",
  half: "M8 3a5 5 0 1 1 0 10A5 5 0 0 1 8 3z",
  arrow: "M12.6 6.2A5 5 0 1 0 13 8.6M13 3v3.4H9.6",
  ring: "M8 3a5 5 0 1 1 0 10A5 5 0 0 1 8 3zM8 6a2 2 0 1 1 0 4 2 2 0 0 1 0-4z",
  check: "M3.2 8.6l3.2 3.2 6.4-7.4",
  cross: "M4 4l8 8M12 4l-8 8",
  broken: "M7.2 4.8l1.6-1.6a2.7 2.7 0 0 1 3.9 3.9l-1.6 1.6M8.8 11.2l-1.6 1.6a2.7 2.7 0 0 1-3.9-3.9l1.6-1.6M5 3l.6 1.6M3 5l1.6.6M11 13l-.6-1.6M13 11l-1.6-.6",
  square: "M4 4h8v8H4z",
  pause: "M5.5 4v8M10.5 4v8",
  question: "M5.6 6a2.4 2.4 0 1 1 3.6 2.1c-.8.5-1.2 1-1.2 1.7M8 12.6v.2",
};

/** A state: its shape, its colour and its word. */
export function StateMark({ state, word = true }: { state: string; word?: boolean }) {
  const look = lookOf(state);
  return (
    <span class={`state tone-${look.tone}`} title={word ? undefined : look.word}>
      <svg viewBox="0 0 16 16" aria-hidden="true" class={`shape shape-${look.shape}`}>
        <path d={PATHS[look.shape]} />
        {look.shape === "half" ? <path d="M8 3a5 5 0 0 1 0 10z" class="filled" /> : null}
      </svg>
      {word ? look.word : <span class="unseen">{look.word}</span>}
    </span>
  );
}

/** The shares of tables by state as one bar, with a sentence for those who do not see it. */
export function SegmentBar({ tables, wide = false }: { tables: Counts | null; wide?: boolean }) {
  const parts = TABLE_ORDER.map((state) => ({ state, number: tables?.[state] ?? 0 })).filter((one) => one.number > 0);
  const all = parts.reduce((sum, one) => sum + one.number, 0);
  if (all === 0) return <span class="faint">–</span>;
  const label = parts.map((one) => `${count(one.number)} ${lookOf(one.state).word}`).join(", ");
  if (all === 1 && !wide) return <span class="faint">1 table</span>;
  return (
    <span class={wide ? "segments wide" : "segments"} role="img" aria-label={label} title={label}>
      {parts.map((one) => (
        <span key={one.state} class={`segment tone-${lookOf(one.state).tone} of-${one.state.toLowerCase()}`} style={{ flexGrow: one.number }} />
      ))}
    </span>
  );
}

/** A time as an age, with the exact time on hover. */
export function Ago({ at, suffix = " ago" }: { at: number; suffix?: string }) {
  if (!at) return <span class="faint">–</span>;
  return (
    <time class="num" dateTime={new Date(at * 1000).toISOString()} title={whenExactly(at, zone.value)}>
      {age(now.value - at)}
      {suffix}
    </time>
  );
}

export function When({ at }: { at: number }) {
  return (
    <time class="num" dateTime={new Date(at * 1000).toISOString()} title={whenExactly(at, zone.value)}>
      {when(at, zone.value)}
    </time>
  );
}

/** A name from outside: control characters shown as pictures, its direction kept apart, cut in the middle if long. */
export function Name({ text, most = 60 }: { text: string; most?: number }) {
  const safe = plainName(text);
  const shown = cut(safe, most);
  return <bdi title={shown === safe ? undefined : safe}>{shown}</bdi>;
}

/** A number with its unit that goes grey when the connection is lost. */
export function Fact({ label, value, hint }: { label: string; value: string; hint?: string }) {
  return (
    <div class="fact" title={hint}>
      <dt>{label}</dt>
      <dd class="num">{value}</dd>
    </div>
  );
}

/** The kind, plugin and id of a step of a plan. */
export function StepNames({ step, most }: { step: { kind: string; plugin: string; id: string }; most: number }) {
  return (
    <>
      <span class="step-kind">{step.kind}</span>
      <span class="step-plugin">
        <Name text={step.plugin} most={30} />
      </span>
      <span class="step-id mono">
        <Name text={step.id} most={most} />
      </span>
    </>
  );
}
