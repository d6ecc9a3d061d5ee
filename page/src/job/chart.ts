// Draws a line over time with uPlot. Loaded on demand.

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { brief, clock, type Zone } from "../text/format";
import type { Point } from "./series";

const HEIGHT = 190;

export interface Drawn {
  draw: (points: Point[]) => void;
  end: () => void;
}

/** A chart in this place, in the colours of the page and with times of this zone. */
export function chart(place: HTMLElement, unit: string, zone: Zone): Drawn {
  const colour = (name: string) => getComputedStyle(place).getPropertyValue(name).trim();
  const axis: uPlot.Axis = { stroke: colour("--faint"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false }, font: "11px system-ui, sans-serif" };
  const options: uPlot.Options = {
    width: Math.max(80, place.clientWidth),
    height: HEIGHT,
    legend: { show: false },
    ...(zone === "UTC" ? { tzDate: (seconds: number) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC") } : {}),
    cursor: { y: false },
    padding: [8, 8, 0, 0],
    scales: { y: { range: (_, __, most) => [0, most > 0 ? most * 1.1 : 1] } },
    axes: [
      { ...axis, size: 24, space: 70, values: (_, marks) => marks.map((one) => clock(one, zone)) },
      { ...axis, size: 46, space: 28, values: (_, marks) => marks.map((one) => brief(one)) },
    ],
    series: [{}, { label: unit, stroke: colour("--run"), width: 1.5, fill: colour("--run-soft"), points: { show: false } }],
  };
  const made = new uPlot(options, [[], []], place);
  const watcher = new ResizeObserver(() => made.setSize({ width: Math.max(80, place.clientWidth), height: HEIGHT }));
  watcher.observe(place);
  return {
    draw: (points) => made.setData([points.map((one) => one[0]), points.map((one) => one[1])]),
    end: () => {
      watcher.disconnect();
      made.destroy();
    },
  };
}
