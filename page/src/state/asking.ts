// Reads one answer of the server for a component, again when its path changes or the page must read everything again.

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { ask, BUSY_MS, Problem } from "../api/client";
import { round } from "../api/stream";

/** A value of a component that a handler reads at once: two keys may come before the next drawing. */
export function useNow<T>(first: T): [T, () => T, (next: T) => void] {
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
export const useAnswer = <T>(path: string | null, change: unknown = 0, keep = false): Answer<T> => useAsked<T>(path, undefined, [change, round.value], keep);

/**
 * The answer of a path for which the server begins a process: asked again when `change` differs, not whenever a tab
 * without a stream asks. `body`: of a request by POST that changes nothing.
 */
export const useCostlyAnswer = <T>(path: string | null, change: unknown = 0, body?: unknown): Answer<T> => useAsked<T>(path, body, [change, 0], false);

function useAsked<T>(path: string | null, body: unknown, changes: [unknown, unknown], keep: boolean): Answer<T> {
  const [found, setFound] = useState<{ path: string | null; data: T | null; problem: Problem | null }>({ path: null, data: null, problem: null });
  const [slow, setSlow] = useState(false);
  const [tries, setTries] = useState(0);
  const shown = useRef<string | null>(null);
  const asked = path === null || body === undefined ? path : `${path} ${JSON.stringify(body)}`;

  useEffect(() => {
    if (path === null) return;
    const ending = new AbortController();
    const waiting = shown.current === asked ? 0 : window.setTimeout(() => setSlow(true), SLOW_MS);
    let later = 0;
    ask<T>(path, body === undefined ? { signal: ending.signal } : { signal: ending.signal, method: "POST", body })
      .then((data) => {
        shown.current = asked;
        setFound({ path: asked, data, problem: null });
      })
      .catch((error: unknown) => {
        if (ending.signal.aborted) return;
        const problem = error instanceof Problem ? error : new Problem(0, String(error));
        if (problem.kind === "busy") later = window.setTimeout(() => setTries((before) => before + 1), BUSY_MS);
        else setFound((before) => ({ path: asked, data: before.path === asked ? before.data : null, problem }));
      })
      .finally(() => {
        window.clearTimeout(waiting);
        if (!later) setSlow(false);
      });
    return () => {
      ending.abort();
      window.clearTimeout(later);
      window.clearTimeout(waiting);
    };
  }, [asked, ...changes, tries]);

  const again = useCallback(() => setTries((before) => before + 1), []);
  const current = found.path === asked || (keep && found.data !== null);
  return { data: current ? found.data : null, problem: current ? found.problem : null, slow: slow && !(current && found.data), again };
}
