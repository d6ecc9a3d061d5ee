// The column that the keys are at. `Up` and `Down` move it, `Left` and `Right` go along its first line.

import type { RefObject } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import type { TableLineage } from "../api/lineage_shapes";
import { movedBy } from "../parts/windows";
import { useNow } from "../state/asking";
import { setQuery } from "../state/location";
import { HEAD, type Picture, ROW, type Spot } from "./layout";
import { addressOf, dependencies, sourceOf } from "./uses";

interface Props {
  lineage: TableLineage;
  picture: Picture;
  /** The box that scrolls. */
  place: RefObject<HTMLElement | null>;
  /** The column of the address. */
  pinned: string | null;
  close: () => void;
}

export interface Walk {
  /** Empty: at none. */
  at: string;
  keys: (event: KeyboardEvent, spots: readonly Spot[]) => void;
  enter: (event: FocusEvent, spots: readonly Spot[]) => void;
  leave: () => void;
  /** Keep a column in the address, or take it out. */
  pin: (spot: string) => void;
  press: (spot: string) => void;
}

export function useWalk({ lineage, picture, place, pinned, close }: Props): Walk {
  const [at, atNow, setAt] = useNow("");
  const heights = useMemo(() => new Map([picture.target, ...picture.sources].flatMap((box) => box.spots.map((spot) => [spot.id, box.y + spot.y] as const))), [picture]);
  const show = (spot: string) => {
    const [box, y] = [place.current, heights.get(spot)];
    if (!box || y === undefined) return;
    const inView = y - HEAD >= box.scrollTop && y + 2 * ROW <= box.scrollTop + box.clientHeight;
    if (!inView) box.scrollTop = y - box.clientHeight / 2;
  };
  // A link shows its column.
  useEffect(() => {
    if (pinned) show(pinned);
  }, [pinned, heights]);
  const go = (spot: string) => {
    setAt(spot);
    show(spot);
  };
  const pin = (spot: string) => setQuery(addressOf(lineage, spot === pinned ? "" : spot));
  const cross = (toTarget: boolean) => {
    const to = dependencies(lineage, atNow())[0]?.spots[0];
    if (to === undefined || (sourceOf(to) === null) !== toTarget) return;
    place.current?.querySelector<HTMLElement>(toTarget ? ".flow-targets" : ".flow-sources")?.focus();
    go(to);
  };
  const keys = (event: KeyboardEvent, spots: readonly Spot[]) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const now = spots.findIndex((one) => one.id === atNow());
    const next = movedBy(event.key, now, spots.length, Math.max(1, Math.floor((place.current?.clientHeight ?? 0) / ROW) - 3));
    if (next !== null) go(spots[next]!.id);
    else if (event.key === "ArrowLeft" || event.key === "ArrowRight") cross(event.key === "ArrowRight");
    else if (event.key === "Enter" || event.key === " ") pin(atNow());
    else if (event.key === "Escape" && pinned) pin(pinned);
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
  };
  const enter = (event: FocusEvent, spots: readonly Spot[]) => {
    // A click has a column of its own.
    if (!(event.currentTarget as Element).matches(":focus-visible") || heights.has(atNow())) return;
    const top = (place.current?.scrollTop ?? 0) + HEAD;
    const first = spots.find((one) => one.id === pinned) ?? spots.find((one) => heights.get(one.id)! >= top) ?? spots[0];
    if (first) go(first.id);
  };
  const press = (spot: string) => {
    setAt(spot === pinned ? "" : spot);
    pin(spot);
  };
  return { at, keys, enter, leave: () => setAt(""), pin, press };
}
