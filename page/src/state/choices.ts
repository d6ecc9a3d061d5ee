// What the viewer has chosen for all pages, and the browser keeps: the colours, and the zone of times.

import { effect, signal } from "@preact/signals";
import type { Zone } from "../text/format";

export type Theme = "system" | "light" | "dark";
const THEMES: Theme[] = ["system", "light", "dark"];
const ZONES: Zone[] = ["browser", "UTC"];
const KEYS = { theme: "seatunnel-theme", zone: "seatunnel-zone" };

/** The stored choice; the first one stands for none. */
const stored = <T extends string>(key: string, of: readonly T[]): T => of.find((one) => one === localStorage.getItem(key)) ?? (of[0] as T);

export const theme = signal<Theme>(stored(KEYS.theme, THEMES));
export const zone = signal<Zone>(stored(KEYS.zone, ZONES));

function keep(key: string, value: string, none: string): void {
  if (value === none) localStorage.removeItem(key);
  else localStorage.setItem(key, value);
}

effect(() => {
  keep(KEYS.theme, theme.value, "system");
  if (theme.value === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme.value;
});
effect(() => keep(KEYS.zone, zone.value, "browser"));

// Another tab of the browser has chosen.
window.addEventListener("storage", () => {
  theme.value = stored(KEYS.theme, THEMES);
  zone.value = stored(KEYS.zone, ZONES);
});

const after = <T>(one: T, of: readonly T[]): T => of[(of.indexOf(one) + 1) % of.length] ?? one;

export function switchTheme(): void {
  theme.value = after(theme.value, THEMES);
}

export function switchZone(): void {
  zone.value = after(zone.value, ZONES);
}
