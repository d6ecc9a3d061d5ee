"""Places the boxes of a graph without cycles: in layers from left to right, with lines that pass no box.

Rules. (1) The layer of a box is its longest distance from a box without inputs. (2) A line over several layers has a
place of its own in each of them. (3) Boxes of a layer keep ``gap_y`` between them, so none overlaps another. (4) The
same graph always gives the same picture: nothing depends on hashes, times or chance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from seatunnel_py.plan.picture.layer_order import Neighbours, ordered

STRAIGHTENED = 6
PASS_HEIGHT = 2


@dataclass(frozen=True, slots=True)
class LayoutBox:
    """A box to be placed."""

    id: str
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class PlacedBox:
    """A box with its upper left corner."""

    x: int
    y: int
    width: int
    height: int

    @property
    def middle(self) -> int:
        return self.y + self.height // 2


@dataclass(frozen=True, slots=True)
class PlacedLine:
    """A line from the right side of a box to the left side of another one."""

    begin: str
    end: str
    points: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class PlacedGraph:
    """All boxes by their ids, and the lines in the order that they were given."""

    width: int = 0
    height: int = 0
    boxes: Mapping[str, PlacedBox] = field(default_factory=dict)
    lines: tuple[PlacedLine, ...] = ()


@dataclass(slots=True)
class _Layers:
    """``layers``: ids from the top; ``passes``: for each line, the ids of its places in the layers between."""

    layers: list[list[str]]
    heights: dict[str, int]
    before: dict[str, list[str]]
    after: dict[str, list[str]]
    passes: list[tuple[str, ...]]


def placed(
    boxes: Sequence[LayoutBox], lines: Sequence[tuple[str, str]], *, gap_x: int = 80, gap_y: int = 24
) -> PlacedGraph:
    """Place boxes and lines. A line is given once; there is no cycle."""
    if not boxes:
        return PlacedGraph()
    layered = _layered(boxes, lines)
    layered.layers = ordered(layered.layers, layered.before, layered.after)
    tops = _tops(layered, gap_y)
    widths = {box.id: box.width for box in boxes}
    lefts, column_widths, x = [], [], 0
    for layer in layered.layers:
        lefts.append(x)
        column_widths.append(max((widths.get(id, 0) for id in layer), default=0))
        x += column_widths[-1] + gap_x
    column = {id: number for number, layer in enumerate(layered.layers) for id in layer}
    found = {box.id: PlacedBox(lefts[column[box.id]], tops[box.id], box.width, box.height) for box in boxes}
    drawn = []
    for (begin, end), passes in zip(lines, layered.passes, strict=True):
        edge = lefts[column[begin]] + column_widths[column[begin]]
        points = [(found[begin].x + found[begin].width, found[begin].middle)]
        if points[0][0] != edge:  # wider boxes are above and below
            points.append((edge, found[begin].middle))
        for one in passes:
            left, middle = lefts[column[one]], tops[one] + PASS_HEIGHT // 2
            points += [(left, middle), (left + column_widths[column[one]], middle)]
        drawn.append(PlacedLine(begin, end, (*points, (found[end].x, found[end].middle))))
    bottom = max(tops[id] + layered.heights[id] for id in tops)
    return PlacedGraph(x - gap_x, bottom, found, tuple(drawn))


def depths(ids: Sequence[str], lines: Sequence[tuple[str, str]]) -> dict[str, int]:
    """The longest distance of each box from one without inputs. Raises ValueError for a cycle."""
    inputs, after = _sides(ids, lines)
    depth = dict.fromkeys(ids, 0)
    left = {id: len(inputs[id]) for id in ids}
    ready = [id for id in ids if not left[id]]
    for id in ready:  # grows
        for one in after[id]:
            depth[one] = max(depth[one], depth[id] + 1)
            left[one] -= 1
            if not left[one]:
                ready.append(one)
    if len(ready) != len(ids):
        raise ValueError("the graph has a cycle")
    return depth


def _sides(ids: Sequence[str], lines: Sequence[tuple[str, str]]) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    before: dict[str, list[str]] = {id: [] for id in ids}
    after: dict[str, list[str]] = {id: [] for id in ids}
    for begin, end in lines:
        after[begin].append(end)
        before[end].append(begin)
    return before, after


def _layered(boxes: Sequence[LayoutBox], lines: Sequence[tuple[str, str]]) -> _Layers:
    ids = [box.id for box in boxes]
    depth = depths(ids, lines)
    layers: list[list[str]] = [[] for _ in range(max(depth.values()) + 1)]
    for id in ids:
        layers[depth[id]].append(id)
    heights = {box.id: box.height for box in boxes}
    pieces: list[tuple[str, str]] = []
    passes = []
    for number, (begin, end) in enumerate(lines):
        between = tuple(f"\0{number}:{layer}" for layer in range(depth[begin] + 1, depth[end]))
        for layer, id in enumerate(between, depth[begin] + 1):
            layers[layer].append(id)
            heights[id] = PASS_HEIGHT
        passes.append(between)
        chain = (begin, *between, end)
        pieces += pairwise(chain)
    before, after = _sides([id for layer in layers for id in layer], pieces)
    return _Layers(layers, heights, before, after, passes)


def _tops(layered: _Layers, gap: int) -> dict[str, int]:
    """The upper ends of all boxes: each is drawn to the mean middle of its neighbours, as far as the others let it."""
    tops: dict[str, float] = {}
    for layer in layered.layers:
        y = 0.0
        for id in layer:
            tops[id], y = y, y + layered.heights[id] + gap
    for number in range(STRAIGHTENED):
        falls = number % 2 == 1
        for layer in reversed(layered.layers) if falls else layered.layers:
            _draw(layer, layered.heights, layered.after if falls else layered.before, tops, gap)
    least = min(tops.values())
    return {id: round(top - least) for id, top in tops.items()}


def _draw(
    layer: Sequence[str], heights: Mapping[str, int], drawing: Neighbours, tops: dict[str, float], gap: int
) -> None:
    """Move the boxes of a layer to their wishes. Boxes that would touch form a block at the mean of their wishes."""
    blocks: list[tuple[float, float, list[str]]] = []  # sum of the wished tops of its first box, its height, its boxes
    for id in layer:
        middles = [tops[one] + heights[one] / 2 for one in drawing.get(id, ())]
        wish = sum(middles) / len(middles) - heights[id] / 2 if middles else tops[id]
        block = (wish, float(heights[id]), [id])
        while blocks and _end(blocks[-1]) + gap > block[0] / len(block[2]):
            total, height, ids = blocks.pop()
            shift = height + gap
            block = (total + block[0] - shift * len(block[2]), shift + block[1], [*ids, *block[2]])
        blocks.append(block)
    for total, _, ids in blocks:
        y = total / len(ids)
        for id in ids:
            tops[id], y = y, y + heights[id] + gap


def _end(block: tuple[float, float, list[str]]) -> float:
    return block[0] / len(block[2]) + block[1]
