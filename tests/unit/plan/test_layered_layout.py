"""The geometry of graphs: no box overlaps another, no line passes a box, and the same graph is placed alike."""

from __future__ import annotations

import itertools
import os
import random
import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatunnel_py.plan.picture.layer_order import crossings
from seatunnel_py.plan.picture.layered_layout import LayoutBox, PlacedGraph, depths, placed

Lines = list[tuple[str, str]]


def boxes_of(number: int) -> list[LayoutBox]:
    return [LayoutBox(f"b{at}", 100 + at % 3 * 50, 40 + at % 4 * 20) for at in range(number)]


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[LayoutBox], Lines]:
    """Any graph without cycles: lines lead from a box to a later one."""
    number = draw(st.integers(1, 25))
    pairs = list(itertools.combinations(range(number), 2))
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=50)) if pairs else []
    return boxes_of(number), [(f"b{one}", f"b{other}") for one, other in chosen]


@given(graphs())
def test_boxes_do_not_overlap_and_no_line_passes_one(graph: tuple[list[LayoutBox], Lines]) -> None:
    """Whatever the graph is."""
    boxes, lines = graph
    found = placed(boxes, lines)

    for one, other in itertools.combinations(found.boxes.values(), 2):
        apart = one.x + one.width <= other.x or other.x + other.width <= one.x
        assert apart or one.y + one.height <= other.y or other.y + other.height <= one.y
    for line in found.lines:
        begin, end = found.boxes[line.begin], found.boxes[line.end]
        assert line.points[0] == (begin.x + begin.width, begin.middle)
        assert line.points[-1] == (end.x, end.middle)
        for (x1, y1), (x2, y2) in itertools.pairwise(line.points):
            assert x1 <= x2
            for box in found.boxes.values():
                beside = x2 <= box.x or box.x + box.width <= x1
                assert beside or (y1 == y2 and not box.y < y1 < box.y + box.height)
    assert all(box.x >= 0 and box.x + box.width <= found.width for box in found.boxes.values())
    assert all(box.y >= 0 and box.y + box.height <= found.height for box in found.boxes.values())
    assert [(one.begin, one.end) for one in found.lines] == lines


PLACE = """
from seatunnel_py.plan.picture.layered_layout import LayoutBox, placed
boxes = [LayoutBox(f"b{at}", 100, 40) for at in range(30)]
print(placed(boxes, [(f"b{one}", f"b{one + 1 + one * 7 % 5}") for one in range(25)]))
"""


def test_the_same_graph_is_placed_alike() -> None:
    """In every process, whatever its hashes are."""
    found = {
        subprocess.run(
            [sys.executable, "-c", PLACE], env={**os.environ, "PYTHONHASHSEED": seed}, check=True, capture_output=True
        ).stdout
        for seed in ("0", "1", "77")
    }
    assert len(found) == 1


def crossed(graph: PlacedGraph) -> int:
    """Pairs of lines between the same two columns that cross."""
    found = 0
    for one, other in itertools.combinations(graph.lines, 2):
        if one.points[0][0] == other.points[0][0] and one.points[-1][0] == other.points[-1][0]:
            found += (one.points[0][1] - other.points[0][1]) * (one.points[-1][1] - other.points[-1][1]) < 0
    return found


@pytest.mark.parametrize("seed", range(20))
def test_a_graph_that_can_be_drawn_without_crossings_is(seed: int) -> None:
    """Chains side by side, in any order of their boxes; and a tree."""
    mixed = random.Random(seed)
    lines = [(f"s{at}", f"t{at}") for at in range(12)] + [(f"t{at}", f"k{at}") for at in range(12)]
    names = sorted({end for line in lines for end in line})
    mixed.shuffle(names)
    assert crossed(placed([LayoutBox(name, 100, 40) for name in names], lines)) == 0
    tree = [(f"n{(at - 1) // 3}", f"n{at}") for at in range(1, 40)]
    names = [f"n{at}" for at in range(40)]
    mixed.shuffle(names)
    assert crossed(placed([LayoutBox(name, 100, 40) for name in names], tree)) == 0


def test_crossings_are_counted() -> None:
    """Lines from or to the same box do not cross."""
    layers = [["a", "b"], ["c", "d"]]
    assert crossings(layers, {"a": ["c"], "b": ["d"]}) == 0
    assert crossings(layers, {"a": ["d"], "b": ["c"]}) == 1
    assert crossings(layers, {"a": ["c", "d"], "b": ["c", "d"]}) == 1


def test_a_cycle_is_refused() -> None:
    """A plan has none."""
    with pytest.raises(ValueError, match="cycle"):
        depths(["a", "b"], [("a", "b"), ("b", "a")])
    assert placed([], []) == PlacedGraph()


def test_a_thousand_boxes_are_placed_in_a_second() -> None:
    """U11: A log of a thousand tables is one pipeline."""
    lines = [("log", f"t{at}") for at in range(1_000)]
    boxes = [LayoutBox(name, 300, 40) for name in ["log", *(f"t{at}" for at in range(1_000))]]
    begun = time.process_time()
    found = placed(boxes, lines)

    assert time.process_time() - begun < 1.0
    assert len(found.lines) == 1_000
