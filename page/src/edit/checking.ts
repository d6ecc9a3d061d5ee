// Lets the server check the text, after each pause of typing.

import { useEffect, useState } from "preact/hooks";
import { ask, Problem } from "../api/client";
import type { Check, Fault } from "../api/shapes";

const PAUSE_MS = 300;
/** The server looks at two texts at a time, and at so many a minute. */
const BUSY_MS: Record<number, number> = { 503: 1_000, 429: 3_000 };

export interface Checked {
  /** The text that was checked; null: none yet. */
  text: string | null;
  faults: readonly Fault[];
  /** Remarks on a text without faults. */
  notes: readonly string[];
  problem: Problem | null;
}

/** The variables of `name=value` lines. Pure. */
export function variablesOf(lines: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const line of lines.split("\n")) {
    const at = line.indexOf("=");
    if (at > 0) found[line.slice(0, at).trim()] = line.slice(at + 1).trim();
  }
  return found;
}

/** The newest check of a text; while another one is on its way, that of the text before. */
export function useCheck(text: string | null, variables: string, may: boolean): Checked {
  const [found, setFound] = useState<Checked>({ text: null, faults: [], notes: [], problem: null });
  const [tries, setTries] = useState(0);
  useEffect(() => {
    if (text === null || !may) return;
    const ending = new AbortController();
    const look = async (): Promise<void> => {
      try {
        const answer = await ask<Check>("check", { method: "POST", body: { text, variables: variablesOf(variables) }, signal: ending.signal });
        setFound({ text, faults: answer.problems ?? [], notes: answer.notes ?? [], problem: null });
      } catch (error) {
        if (ending.signal.aborted) return;
        const problem = error instanceof Problem ? error : new Problem(0, String(error));
        const again = BUSY_MS[problem.status];
        if (again === undefined) setFound({ text, faults: problem.faults, notes: [], problem });
        else timer = window.setTimeout(() => setTries((before) => before + 1), again);
      }
    };
    let timer = window.setTimeout(() => void look(), PAUSE_MS);
    return () => {
      window.clearTimeout(timer);
      ending.abort();
    };
  }, [text, variables, may, tries]);
  return found;
}
