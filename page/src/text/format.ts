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

/** The zone of times: that of the browser, or UTC. */
export type Zone = "browser" | "UTC";

const timeOfDay: Intl.DateTimeFormatOptions = { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" };
const dayAndTime: Intl.DateTimeFormatOptions = { ...timeOfDay, year: "numeric", month: "2-digit", day: "2-digit" };
const made = new Map<string, Intl.DateTimeFormat>();

/** A formatter; making one takes longer than using it a hundred times. */
function formatter(kind: string, language: string, options: Intl.DateTimeFormatOptions, zone: Zone): Intl.DateTimeFormat {
  const known = made.get(`${kind} ${zone}`);
  if (known) return known;
  const found = new Intl.DateTimeFormat(language, zone === "UTC" ? { ...options, timeZone: "UTC" } : options);
  made.set(`${kind} ${zone}`, found);
  return found;
}

/** A time with its day. */
export const when = (seconds: number, zone: Zone): string => formatter("when", "en-CA", dayAndTime, zone).format(seconds * 1000).replace(",", "");

/** The same with the offset of its zone, for hovering: twice a year an hour comes twice. */
export const whenExactly = (seconds: number, zone: Zone): string => `${when(seconds, zone)} ${offset(seconds, zone)}`;

/** A time of the day. */
export const clock = (seconds: number, zone: Zone): string => formatter("clock", "en-GB", timeOfDay, zone).format(seconds * 1000);

/** The offset of a zone at a time: "UTC", "GMT+05:45". */
export function offset(seconds: number, zone: Zone): string {
  if (zone === "UTC") return "UTC";
  const parts = formatter("offset", "en-CA", { timeZoneName: "longOffset" }, zone).formatToParts(seconds * 1000);
  return parts.find((one) => one.type === "timeZoneName")?.value ?? "";
}

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
