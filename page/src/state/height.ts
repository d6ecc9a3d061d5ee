// The height of a box that scrolls, as it changes with the window.

import type { RefObject } from "preact";
import { useEffect, useState } from "preact/hooks";

export function useHeight(place: RefObject<HTMLElement | null>, first: number): number {
  const [height, setHeight] = useState(first);
  useEffect(() => {
    const box = place.current;
    if (!box) return;
    const watcher = new ResizeObserver(() => setHeight(box.clientHeight));
    watcher.observe(box);
    return () => watcher.disconnect();
  }, []);
  return height;
}
