"""Draws the plan as one SVG without script: vertices are boxes in columns by distance from the sources."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from seatunnel_py.plan.picture.layered_layout import LayoutBox, placed

BOX_WIDTH, LINE_HEIGHT, GAP_X, GAP_Y, MARGIN = 300, 18, 80, 24, 24
PIPELINES_MAX = 60  # a picture of a thousand tables is unreadable; the text has them all
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_FILL = {"source": "#e8f1fb", "transform": "#f6f1e3", "sink": "#e9f6ea"}


def svg(plan: dict[str, Any]) -> str:
    """Draw the SVG of a plan described by ``plan_data.describe``."""
    kinds = {step["id"]: step["kind"] for step in plan["steps"]}
    shapes: list[str] = []
    width, top = 0, MARGIN
    for line in plan["pipelines"][:PIPELINES_MAX]:
        drawn, right, top = _pipeline(line, kinds, top)
        shapes += drawn
        width = max(width, right)
    hidden = len(plan["pipelines"]) - PIPELINES_MAX
    if hidden > 0:
        shapes.append(_text(MARGIN, top + LINE_HEIGHT, f"… and {hidden} more pipelines", bold=True))
        top += 2 * LINE_HEIGHT
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width + MARGIN}" height="{top + MARGIN}" '
        f'font-family="sans-serif" font-size="12">'
    )
    arrow = (
        '<defs><marker id="a" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" '
        'orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="#555"/></marker></defs>'
    )
    return "\n".join([head, '<rect width="100%" height="100%" fill="white"/>', arrow, *shapes, "</svg>"])


def _pipeline(line: dict[str, Any], kinds: dict[str, str], top: int) -> tuple[list[str], int, int]:
    """Draw the shapes of one pipeline; return its right edge and the top of the next one."""
    vertices = line["vertices"]
    shapes = [_text(MARGIN, top + 12, f"{line['id']}: {line['name']}", bold=True)]
    body = top + LINE_HEIGHT + 6
    boxes = [LayoutBox(one["id"], BOX_WIDTH, (len(one["nodes"]) + 1) * LINE_HEIGHT) for one in vertices]
    channels = dict.fromkeys((one["id"], receiver) for one in vertices for receiver in one["outputs"])
    found = placed(boxes, tuple(channels), gap_x=GAP_X, gap_y=GAP_Y)
    for vertex in vertices:
        box = found.boxes[vertex["id"]]
        x, y = MARGIN + box.x, body + box.y
        shapes += _box(vertex, kinds, x, y, box.height)
        if "retry_rejected" in vertex:
            shapes += _loop((x, y, box.height), vertex["retry_rejected"])
    shapes += [_arrow([(MARGIN + x, body + y) for x, y in one.points]) for one in found.lines]
    return shapes, MARGIN + found.width, body + found.height + GAP_Y


def _box(vertex: dict[str, Any], kinds: dict[str, str], x: int, y: int, height: int) -> Iterable[str]:
    yield f'<rect x="{x}" y="{y}" width="{BOX_WIDTH}" height="{height}" rx="6" fill="none" stroke="#555"/>'
    for number, node in enumerate(vertex["nodes"]):
        top = y + 6 + number * LINE_HEIGHT
        fill = _FILL[kinds[node["step"]]]
        yield f'<rect x="{x + 6}" y="{top}" width="{BOX_WIDTH - 12}" height="{LINE_HEIGHT - 2}" rx="3" fill="{fill}"/>'
        yield _text(x + 12, top + 12, f"{node['plugin']}  {node['id']}")


def _arrow(points: Sequence[tuple[int, int]]) -> str:
    """A line that bends between the columns, and is straight where it passes one."""
    (x1, y1), *rest = points
    path = f"M{x1},{y1}"
    for x2, y2 in rest:
        bend = (x1 + x2) // 2
        path += f" L{x2},{y2}" if y1 == y2 else f" C{bend},{y1} {bend},{y2} {x2},{y2}"
        x1, y1 = x2, y2
    return f'<path d="{path}" fill="none" stroke="#555" marker-end="url(#a)"/>'


def _loop(box: tuple[int, int, int], times: int) -> Iterable[str]:
    """Draw the path of rejected rows: below the box, from its right end to its left one."""
    x, y, height = box
    low, right = y + height, x + BOX_WIDTH
    path = f"M{right - 24},{low} C{right - 24},{low + GAP_Y} {x + 24},{low + GAP_Y} {x + 24},{low}"
    yield f'<path d="{path}" fill="none" stroke="#555" stroke-dasharray="4" marker-end="url(#a)"/>'
    yield _text(x + BOX_WIDTH // 2 - 60, low + 12, f"rejected, at most {times} times")


def _text(x: int, y: int, text: str, *, bold: bool = False) -> str:
    shown = text if len(text) <= 46 else text[:45] + "…"
    weight = ' font-weight="bold"' if bold else ""
    clean = _NOT_XML.sub("\ufffd", shown)
    return f'<text x="{x}" y="{y}"{weight}>{escape(clean)}</text>'
