// Reads one answer of the server for a component, again when its path changes or the page must read everything again.

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { ask, Problem } from "../api/client";
import { round } from "../api/stream";

/** A number of a component that a handler reads at once: two keys may come before the next drawing. */
export function useNow(first: number): [number, () => number, (next: number) => void] {
  const [shown, setShown] = useState(first);
  const kept = useRef(first);
  return [
    shown,
    () => kept.current,
    (next) => {
      kept.current = next;
      setShown(next);
    },
  ];
}

export interface Answer<T> {
  data: T | null;
  problem: Problem | null;
  /** Whether the first answer is on its way for long enough to show it. */
  slow: boolean;
  again: () => void;
}

const SLOW_MS = 150;

/**
 * The answer of a path; null: nothing is asked. `change`: asks again whenever it differs. `keep`: the answer of another
 * path stays in view until the new one is there, so that a list does not vanish while its filter is typed.
 */
export function useAnswer<T>(path: string | null, change: unknown = 0, keep = false): Answer<T> {
  const [found, setFound] = useState<{ path: string | null; data: T | null; problem: Problem | null }>({ path: null, data: null, problem: null });
  const [slow, setSlow] = useState(false);
  const [tries, setTries] = useState(0);
  const turn = round.value;
  const shown = useRef<string | null>(null);

  useEffect(() => {
    if (path === null) return;
    const ending = new AbortController();
    const waiting = shown.current === path ? 0 : window.setTimeout(() => setSlow(true), SLOW_MS);
    ask<T>(path, { signal: ending.signal })
      .then((data) => {
        shown.current = path;
        setFound({ path, data, problem: null });
      })
      .catch((error: unknown) => {
        if (ending.signal.aborted) return;
        const problem = error instanceof Problem ? error : new Problem(0, String(error));
        setFound((before) => ({ path, data: before.path === path ? before.data : null, problem }));
      })
      .finally(() => {
        window.clearTimeout(waiting);
        setSlow(false);
      });
    return () => {
      ending.abort();
      window.clearTimeout(waiting);
    };
  }, [path, change, turn, tries]);

  const again = useCallback(() => setTries((before) => before + 1), []);
  const current = found.path === path || (keep && found.data !== null);
  return { data: current ? found.data : null, problem: current ? found.problem : null, slow: slow && !(current && found.data), again };
}
