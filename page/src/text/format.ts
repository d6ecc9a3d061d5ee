// Numbers, times and sizes as text. Pure.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en", { maximumSignificantDigits: 3, notation: "compact" });

export const NONE = "–";

/** A count with separators of thousands. */
export const count = (value: number | null | undefined): string => (value == null ? NONE : whole.format(value));

/** A count for a narrow place: 1.2M. */
export const brief = (value: number | null | undefined): string =>
  value == null ? NONE : Math.abs(value) < 10_000 ? whole.format(value) : short.format(value);

/** "1 table", "12 tables". */
export const counted = (value: number, noun: string): string => `${count(value)} ${noun}${value === 1 ? "" : "s"}`;

export const perSecond = (value: number | null | undefined): string => (value == null ? NONE : `${brief(Math.round(value))} rows/s`);

/** A duration with its two largest units. */
export function duration(seconds: number | null | undefined): string {
  if (seconds == null || !Number.isFinite(seconds)) return NONE;
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  const parts: [number, string][] = [[86_400, "d"], [3_600, "h"], [60, "min"], [1, "s"]];
  let rest = Math.round(seconds);
  const found: string[] = [];
  for (const [size, unit] of parts) {
    const number = Math.floor(rest / size);
    rest -= number * size;
    if (number > 0) found.push(`${number} ${unit}`);
    else if (found.length > 0) break;
    if (found.length === 2) break;
  }
  return found.join(" ");
}

/** An age with one unit: "12 s", "3 d". */
export function age(seconds: number): string {
  if (seconds < 60) return `${Math.max(0, Math.floor(seconds))} s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}

export function bytes(value: number | null | undefined): string {
  if (value == null) return NONE;
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let at = 0;
  let rest = value;
  while (rest >= 1024 && at < units.length - 1) {
    rest /= 1024;
    at += 1;
  }
  return `${at === 0 || rest >= 100 ? Math.round(rest) : rest.toFixed(1)} ${units[at]}`;
}

const dayAndTime: Intl.DateTimeFormatOptions = { year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false };

/** A time in the zone of the viewer. */
export const when = (seconds: number): string => new Intl.DateTimeFormat("en-CA", dayAndTime).format(seconds * 1000).replace(",", "");

/** The same with its zone, for hovering. */
export const whenExactly = (seconds: number): string =>
  new Intl.DateTimeFormat("en-CA", { ...dayAndTime, timeZoneName: "longOffset" }).format(seconds * 1000).replace(",", "");

export const clock = (seconds: number): string =>
  new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" }).format(seconds * 1000);

/** A long name cut in its middle, where names of tables rarely differ. */
export function cut(name: string, most = 60): string {
  const letters = [...name];
  if (letters.length <= most) return name;
  const head = Math.ceil((most - 1) / 2);
  return `${letters.slice(0, head).join("")}…${letters.slice(letters.length - (most - 1 - head)).join("")}`;
}

/** Marks control characters and directions of writing, which could make a name look like another one. */
export const plainName = (name: string): string =>
  name.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, (one) => {
    const code = one.codePointAt(0) ?? 0;
    return code < 32 ? String.fromCodePoint(0x2400 + code) : "\ufffd";
  });
