"""Rates between samples, and fewer points for a picture. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

Point = tuple[float, float]
POINTS_MAX = 2_000


def rates(samples: Sequence[Point], begin: float, end: float) -> list[Point]:
    """The mean rate per second between each two samples of a counter, at the later one. Never negative: a counter that
    goes back has begun again, and its first rate is not known."""
    found = []
    for (before, first), (at, last) in pairwise(samples):
        if begin <= at <= end and at > before:
            found.append((at, max(0.0, (last - first) / (at - before))))
    return found


def fewer(points: Sequence[Point], limit: int = POINTS_MAX) -> list[Point]:
    """At most ``limit`` points that show the same picture: of each equal part of the time the lowest, the highest and
    the last one."""
    if len(points) <= limit:
        return list(points)
    parts = limit // 3
    begin, end = points[0][0], points[-1][0]
    width = (end - begin) / parts or 1.0
    found: list[Point] = []
    part: list[Point] = []
    number = 0
    for point in points:
        now = min(parts - 1, int((point[0] - begin) / width))
        if now != number:
            found += _shown(part)
            part, number = [], now
        part.append(point)
    return found + _shown(part)


def _shown(part: Sequence[Point]) -> list[Point]:
    if not part:
        return []
    low, high = min(part, key=lambda point: point[1]), max(part, key=lambda point: point[1])
    return sorted({low, high, part[-1]})
