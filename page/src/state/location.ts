// The address holds what is shown: page, filter, order, tab, and the chosen table. So back, reload and a pasted link
// give the same view.

import { computed, signal } from "@preact/signals";
import { root } from "../api/client";

export const TABS = ["overview", "tables", "checkpoints", "failures", "state", "quarantine", "log", "plan", "lineage"] as const;
export type Tab = (typeof TABS)[number];
export type Route = { page: "jobs" } | { page: "job"; run: string; tab: Tab } | { page: "edit"; id: string } | { page: "catalogue" } | { page: "discover" } | { page: "unknown"; path: string };

const address = signal(location.href);

/** The route of a path below the root of the server. Pure. */
export function routeOf(path: string): Route {
  const parts = path.split("/").filter(Boolean).map(decoded);
  if (parts.length === 0 || (parts.length === 1 && parts[0] === "jobs")) return { page: "jobs" };
  if (parts.length <= 2 && parts[0] === "edit") return { page: "edit", id: parts[1] ?? "" };
  if (parts.length === 1 && parts[0] === "catalogue") return { page: "catalogue" };
  if (parts.length === 1 && parts[0] === "discover") return { page: "discover" };
  const [first, run, tab = "overview", ...more] = parts;
  if (first === "jobs" && run && more.length === 0 && (TABS as readonly string[]).includes(tab)) {
    return { page: "job", run, tab: tab as Tab };
  }
  return { page: "unknown", path };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export const route = computed<Route>(() => routeOf(new URL(address.value).pathname.slice(root.pathname.length - 1)));
export const query = computed(() => new URL(address.value).searchParams);

/** The address of the jobs page, or of a tab of a job. */
export function linkTo(run?: string, tab: Tab = "overview", more: Record<string, string> = {}): string {
  return linkBelow(run === undefined ? "" : `jobs/${encodeURIComponent(run)}${tab === "overview" ? "" : `/${tab}`}`, more);
}

/** The address of the editor: of a definition, or of a new one. */
export const linkToEditor = (id = "", more: Record<string, string> = {}): string => linkBelow(id ? `edit/${encodeURIComponent(id)}` : "edit", more);

/** The address of the catalogue of plugins. */
export const linkToCatalogue = (more: Record<string, string> = {}): string => linkBelow("catalogue", more);

/** The address of the way from a connection to a job file. */
export const linkToDiscover = (): string => linkBelow("discover", {});

function linkBelow(path: string, more: Record<string, string>): string {
  const found = new URL(path, root);
  for (const [name, value] of Object.entries(more)) found.searchParams.set(name, value);
  return found.href;
}

export function go(href: string, how: "push" | "replace" = "push"): void {
  if (href === location.href) return;
  if (how === "push") history.pushState(null, "", href);
  else history.replaceState(null, "", href);
  address.value = location.href;
}

/** Change parameters of the address; an empty value removes one. */
export function setQuery(changes: Record<string, string>, how: "push" | "replace" = "replace"): void {
  const found = new URL(location.href);
  for (const [name, value] of Object.entries(changes)) {
    if (value === "") found.searchParams.delete(name);
    else found.searchParams.set(name, value);
  }
  go(found.href, how);
}

window.addEventListener("popstate", () => {
  address.value = location.href;
});

/** Follows links of the page without loading it again. */
export function followLink(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  const link = (event.target as Element).closest("a");
  if (!link || link.target || link.hasAttribute("download") || !link.href.startsWith(root.href)) return;
  event.preventDefault();
  go(link.href);
}
