"""Orders the boxes of layers so that few lines cross.

Each layer is sorted by the mean place of the neighbours in the layer before, then in the layer after, several times;
the order with the fewest crossings is kept. Small layers are then improved by exchanging neighbours. Equal places keep
their order, so the same graph always gives the same picture.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Mapping, Sequence
from itertools import pairwise

Neighbours = Mapping[str, Sequence[str]]
SWEEPS = 8
EXCHANGED_MAX = 60
"""Boxes of a layer that are exchanged: the work grows with their square."""


def ordered(layers: Sequence[Sequence[str]], before: Neighbours, after: Neighbours) -> list[list[str]]:
    """The layers with their boxes in a good order. ``before``, ``after``: neighbours in the next layer on each side."""
    current = [list(layer) for layer in layers]
    best, fewest = [list(layer) for layer in current], crossings(current, after)
    for sweep in range(SWEEPS):
        if not fewest:
            break
        falls = sweep % 2 == 1
        numbers = range(len(current) - 2, -1, -1) if falls else range(1, len(current))
        for number in numbers:
            fixed = current[number + 1 if falls else number - 1]
            current[number] = _by_mean(current[number], fixed, after if falls else before)
        found = crossings(current, after)
        if found < fewest:
            best, fewest = [list(layer) for layer in current], found
    return _exchanged(best, before, after) if fewest else best


def _by_mean(layer: Sequence[str], fixed: Sequence[str], neighbours: Neighbours) -> list[str]:
    """Sort a layer by the mean place of its neighbours; a box without any stays at its relative place."""
    place = {box: number for number, box in enumerate(fixed)}
    scale = len(fixed) / max(1, len(layer))

    def mean(number: int) -> float:
        found = [place[one] for one in neighbours.get(layer[number], ())]
        return sum(found) / len(found) if found else number * scale

    return [layer[number] for number in sorted(range(len(layer)), key=mean)]


def _exchanged(layers: list[list[str]], before: Neighbours, after: Neighbours) -> list[list[str]]:
    for _ in range(SWEEPS):
        better = False
        for number, layer in enumerate(layers):
            if len(layer) > EXCHANGED_MAX:
                continue
            sides = []
            if number:
                sides.append((_places(layers[number - 1]), before))
            if number + 1 < len(layers):
                sides.append((_places(layers[number + 1]), after))
            for at in range(len(layer) - 1):
                upper, lower = layer[at], layer[at + 1]
                now = sum(_pair(place, side, upper, lower) for place, side in sides)
                if now > sum(_pair(place, side, lower, upper) for place, side in sides):
                    layer[at], layer[at + 1] = lower, upper
                    better = True
        if not better:
            break
    return layers


def _places(layer: Sequence[str]) -> dict[str, int]:
    return {box: number for number, box in enumerate(layer)}


def _pair(place: Mapping[str, int], neighbours: Neighbours, upper: str, lower: str) -> int:
    """Crossings of the lines of two boxes that are one above the other."""
    below = [place[one] for one in neighbours.get(lower, ())]
    return sum(place[one] > other for one in neighbours.get(upper, ()) for other in below)


def crossings(layers: Sequence[Sequence[str]], after: Neighbours) -> int:
    """The number of crossings of lines between the layers."""
    found = 0
    for layer, following in pairwise(layers):
        place = _places(following)
        ends = [end for box in layer for end in sorted(place[one] for one in after.get(box, ()))]
        found += _inversions(ends)
    return found


def _inversions(numbers: Sequence[int]) -> int:
    """Pairs of which the first is larger."""
    seen: list[int] = []
    found = 0
    for number in reversed(numbers):
        found += bisect_left(seen, number)
        insort(seen, number)
    return found
