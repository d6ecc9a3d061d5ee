"""A line chart as SVG: x on a logarithmic scale, y from 0, names at the ends of their lines. No library, no script."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

Points = Sequence[tuple[float, float]]

WIDTH, HEIGHT = 720, 400
LEFT, RIGHT, TOP, BOTTOM = 64, 150, 48, 60
COLOURS = ("#555555", "#1f77b4", "#d62728", "#2ca02c")
LABEL_GAP = 16  # between two names, however close their lines end


def svg(title: str, x_name: str, y_name: str, series: Mapping[str, Points], note: str = "") -> str:
    """The picture. Every series needs a point, and every x has to be above 0."""
    xs = sorted({x for points in series.values() for x, _ in points})
    step = _step(max(y for points in series.values() for _, y in points))
    top = step * math.ceil(max(y for points in series.values() for _, y in points) / step)
    chart = _Chart(math.log(xs[0]), max(math.log(xs[-1]) - math.log(xs[0]), 1e-9), top)
    shapes = [_text(LEFT, 24, title, bold=True), *_axes(chart, xs, step, x_name, y_name)]
    for (name, points), colour, label in zip(series.items(), COLOURS, _labels(chart, series), strict=False):
        shapes += _line(chart, points, colour)
        shapes.append(_text(WIDTH - RIGHT + 10, label, name, fill=colour))
    if note:
        shapes.append(_text(LEFT, HEIGHT - 8, note, size=10))
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        'font-family="sans-serif" font-size="12">'
    )
    return "\n".join([head, '<rect width="100%" height="100%" fill="white"/>', *shapes, "</svg>", ""])


class _Chart:
    """From values to places in the picture."""

    def __init__(self, first: float, span: float, top: float) -> None:
        self.first = first
        self.span = span
        self.top = top

    def x(self, value: float) -> float:
        return round(LEFT + (math.log(value) - self.first) / self.span * (WIDTH - LEFT - RIGHT), 1)

    def y(self, value: float) -> float:
        return round(HEIGHT - BOTTOM - value / self.top * (HEIGHT - TOP - BOTTOM), 1)


def _axes(chart: _Chart, xs: Sequence[float], step: float, x_name: str, y_name: str) -> list[str]:
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    shapes = []
    for number in range(round(chart.top / step) + 1):
        value = number * step
        shapes.append(_rule(LEFT, chart.y(value), right, chart.y(value), "#dddddd" if number else "#333333"))
        shapes.append(_text(LEFT - 8, chart.y(value) + 4, f"{value:g}", anchor="end"))
    for value in xs:
        shapes.append(_rule(chart.x(value), bottom, chart.x(value), bottom + 5, "#333333"))
        shapes.append(_text(chart.x(value), bottom + 18, f"{value:g}", anchor="middle"))
    shapes.append(_text((LEFT + right) / 2, bottom + 36, x_name, anchor="middle"))
    shapes.append(_text(LEFT - 44, TOP - 8, y_name))
    return shapes


def _line(chart: _Chart, points: Points, colour: str) -> list[str]:
    places = [(chart.x(x), chart.y(y)) for x, y in sorted(points)]
    path = " ".join(f"{x},{y}" for x, y in places)
    dots = [f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"/>' for x, y in places]
    return [f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>', *dots]


def _labels(chart: _Chart, series: Mapping[str, Points]) -> list[float]:
    """Where the names stand: beside the ends of their lines, none upon another."""
    ends = [chart.y(max(points)[1]) + 4 for points in series.values()]
    placed: dict[int, float] = {}
    lowest = -math.inf
    for number in sorted(range(len(ends)), key=lambda number: ends[number]):
        lowest = placed[number] = max(ends[number], lowest + LABEL_GAP)
    return [placed[number] for number in range(len(ends))]


def _step(largest: float) -> float:
    """Between two lines of the grid: 1, 2 or 5 times a power of ten, for four to ten of them."""
    power = 10.0 ** math.floor(math.log10(largest))
    return next(power * part for part in (0.1, 0.2, 0.5, 1.0) if largest <= 10 * power * part)


def _rule(x1: float, y1: float, x2: float, y2: float, colour: str) -> str:
    return f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{colour}"/>'


def _text(
    x: float, y: float, text: str, *, bold: bool = False, anchor: str = "start", fill: str = "#222222", size: int = 12
) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return (
        f'<text x="{x}" y="{y}" fill="{fill}" font-size="{size}" text-anchor="{anchor}"{weight}>{escape(text)}</text>'
    )
