// The marks of a lineage: how a column is made. Each has a shape and a word, and a colour.

import type { TableLineage } from "../api/lineage_shapes";
import { type Look, LOOKS, type Mark, markOf, targetSpots } from "./uses";

const PATHS: Record<Mark, string> = {
  same: "M3.5 6.2h9M3.5 9.8h9",
  made: "M11.4 3.4c-2-.6-2.9.4-3.2 2.2L7 12c-.3 1.5-1.2 2-2.6 1.5M5.4 7.2h5.2",
  aggregated: "M11.6 5.2V3.5H4.6L8.8 8l-4.2 4.5h7v-1.7",
  masked: "M4.2 7.4h7.6v5.4H4.2zM5.9 7.4V5.6a2.1 2.1 0 0 1 4.2 0v1.8",
  decides: "M2.8 3.8h10.4L9.3 8.5v4.3l-2.6-1.3v-3z",
  unknown: "M5.6 6a2.4 2.4 0 1 1 3.6 2.1c-.8.5-1.2 1-1.2 1.7M8 12.6v.2",
  none: "M5 8h6",
};
const LINES: Record<Look, string> = { same: "as it is", made: "transformed", decides: "only decides which rows", unknown: "unknown" };
const OTHERS = [["aggregated", "aggregated"], ["masked", "masked"], ["none", "of no column"]] as const;

export function UseMark({ mark }: { mark: Mark }) {
  return (
    <svg viewBox="0 0 16 16" aria-hidden="true" class={`use-mark use-${mark}`}>
      <path d={PATHS[mark]} />
    </svg>
  );
}

/** The kinds of lines that a picture has. */
export function Legend({ lineage, looks }: { lineage: TableLineage; looks: ReadonlySet<Look> }) {
  const marks = new Set(targetSpots(lineage).map((spot) => markOf(lineage, spot)));
  return (
    <ul class="legend" aria-label="lines">
      {LOOKS.filter((look) => looks.has(look)).map((look) => (
        <li key={look}>
          <svg viewBox="0 0 30 10" aria-hidden="true" class="legend-line">
            <path d="M1 5h28" class={`flow-line line-${look}`} />
          </svg>
          <UseMark mark={look} />
          {LINES[look]}
        </li>
      ))}
      {OTHERS.filter(([mark]) => marks.has(mark)).map(([mark, word]) => (
        <li key={mark}>
          <UseMark mark={mark} /> {word}
        </li>
      ))}
    </ul>
  );
}
