// Keys of the whole page. Keys in a field of text are its own, but for Esc.

import { signal } from "@preact/signals";
import { go, linkTo, linkToCatalogue, linkToDiscover } from "../state/location";

export const helpOpen = signal(false);

export const KEYS: [string, string][] = [
  ["/", "go to the filter"],
  ["j  k", "next row, row before"],
  ["Enter", "open the row"],
  ["Esc", "close, back"],
  ["PageDown  PageUp  Home  End", "move in a list"],
  ["g j", "list of jobs"],
  ["g c", "catalogue of plugins"],
  ["g d", "discover: from a connection to a job file"],
  ["a  x", "in the tables of a connection: choose all that are listed, drop them"],
  ["1 … 9", "tabs of a job"],
  ["?", "this help"],
];

const PLACES: Record<string, () => string> = { j: () => linkTo(), c: () => linkToCatalogue(), d: linkToDiscover };

const inText = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName));

let went = -Infinity;

export function pageKeys(event: KeyboardEvent): void {
  const target = event.composedPath()[0] ?? event.target; // inside of a shadow tree, too
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape" && helpOpen.value) {
    helpOpen.value = false;
    return;
  }
  if (inText(target)) {
    if (event.key === "Escape" && !event.defaultPrevented) {
      event.preventDefault(); // a browser would clear the field
      (target as HTMLElement).blur();
    }
    return;
  }
  const second = performance.now() - went < 1500;
  went = -Infinity;
  if (event.key === "/") {
    const field = document.querySelector<HTMLInputElement>("[data-filter]");
    field?.focus();
    field?.select();
    if (field) event.preventDefault();
  } else if (event.key === "?") {
    helpOpen.value = true;
  } else if (event.key === "g") {
    went = performance.now();
  } else if (second && Object.hasOwn(PLACES, event.key)) {
    event.preventDefault();
    event.stopImmediatePropagation();
    go(PLACES[event.key]!());
  } else if (/^[1-9]$/.test(event.key)) {
    document.querySelectorAll<HTMLAnchorElement>("[role=tab]")[Number(event.key) - 1]?.click();
  } else if ((event.key === "j" || event.key === "k") && !(event.target as Element | null)?.closest?.("[data-rows]")) {
    const rows = document.querySelector<HTMLElement>("[data-rows]");
    rows?.focus();
  }
}
