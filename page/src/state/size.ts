// The sizes of a box, as they change with the window.

import type { RefObject } from "preact";
import { useEffect, useState } from "preact/hooks";

type Side = "clientHeight" | "clientWidth";

/** The height of a box that scrolls. */
export const useHeight = (place: RefObject<HTMLElement | null>, first: number): number => useSide(place, first, "clientHeight");

export const useWidth = (place: RefObject<HTMLElement | null>, first: number): number => useSide(place, first, "clientWidth");

function useSide(place: RefObject<HTMLElement | null>, first: number, side: Side): number {
  const [size, setSize] = useState(first);
  useEffect(() => {
    const box = place.current;
    if (!box) return;
    const watcher = new ResizeObserver(() => setSize(box[side]));
    watcher.observe(box);
    return () => watcher.disconnect();
  }, []);
  return size;
}
