// Whether the page is being printed: lists then show all that they have, not only the part in view.

import { options } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

/** What `prepare` returned when the browser began to print; null: it does not print. The page is drawn before the event
 * ends, which is when the browser takes its picture. */
export function usePrinting<T>(prepare: () => T): T | null {
  const [printed, setPrinted] = useState<T | null>(null);
  const latest = useRef(prepare);
  latest.current = prepare;
  useEffect(() => {
    const begin = () => atOnce(() => setPrinted(latest.current()));
    const end = () => setPrinted(null);
    window.addEventListener("beforeprint", begin);
    window.addEventListener("afterprint", end);
    return () => {
      window.removeEventListener("beforeprint", begin);
      window.removeEventListener("afterprint", end);
    };
  }, []);
  return printed;
}

/** Draw what a change needs before this returns. */
function atOnce(change: () => void): void {
  const before = options.debounceRendering;
  options.debounceRendering = (draw) => draw();
  try {
    change();
  } finally {
    if (before) options.debounceRendering = before;
    else delete options.debounceRendering;
  }
}
