// A chart of a number of the run over time: as the server has recorded it, or as this page has seen it.

import { Choice } from "../parts/choice";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Series } from "../api/shapes";
import { useAnswer } from "../state/asking";
import { theme, zone } from "../state/choices";
import { brief } from "../text/format";
import { useSlowly } from "./overview";

export type Point = [number, number | null];
const METRICS: [string, string][] = [
  ["rows_read", "rows read"],
  ["rows_written", "rows written"],
  ["lag", "lag"],
  ["checkpoint_seconds", "checkpoint time"],
];

export function SeriesCard({ run, own, alive }: { run: string; own: Point[]; alive: boolean }) {
  const [metric, setMetric] = useState("rows_read");
  const turn = useSlowly(own);
  const [missing, setMissing] = useState(false);
  const found = useAnswer<Series>(missing ? null : `runs/${encodeURIComponent(run)}/series?metric=${metric}`, turn);
  useEffect(() => {
    if (found.problem?.kind === "unknown-path") setMissing(true);
  }, [found.problem]);
  const points = missing ? own : (found.data?.points ?? []);
  const unit = missing ? "rows/s" : (found.data?.unit ?? "");
  return (
    <section class="card" aria-label="chart">
      <div class="card-head">
        <h2>{missing ? "Rows per second" : "Over time"}</h2>
        {missing ? (
          <span class="faint">since this page was opened</span>
        ) : (
          <Choice label="number of the chart" value={metric} of={METRICS} chosen={setMetric} />
        )}
      </div>
      {points.length > 1 ? <Chart points={points} unit={unit} /> : <NoPoints missing={missing} alive={alive} />}
    </section>
  );
}

function NoPoints({ missing, alive }: { missing: boolean; alive: boolean }) {
  if (missing && !alive) return <p class="none">Not available: this server keeps no history of the numbers of a run.</p>;
  return <p class="none chart-none">{alive ? "The first points come in a few seconds." : "There are no points in this time."}</p>;
}

/** The library of the chart is loaded with the first chart only. */
function Chart({ points, unit }: { points: Point[]; unit: string }) {
  const place = useRef<HTMLDivElement>(null);
  const draw = useRef<((points: Point[]) => void) | null>(null);
  const latest = useRef(points);
  latest.current = points;
  const [scheme, times] = [theme.value, zone.value];
  useEffect(() => {
    let end = () => {};
    let over = false;
    void import("./chart").then(({ chart }) => {
      if (over || !place.current) return;
      const made = chart(place.current, unit, times);
      draw.current = made.draw;
      end = made.end;
      made.draw(latest.current);
    });
    return () => {
      over = true;
      draw.current = null;
      end();
    };
  }, [unit, scheme, times]);
  useEffect(() => draw.current?.(points), [points]);
  const last = points[points.length - 1]?.[1];
  return <div ref={place} class="chart" role="img" aria-label={`chart; newest value ${brief(last == null ? null : Math.round(last))} ${unit}`} />;
}
