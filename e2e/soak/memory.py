"""How much memory a driver holds over time: its Python and its JVM, looked at every few seconds."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tests.servers.process_tree import jvms_below, memory_mb

SAMPLE_SECONDS = 3.0
SAMPLES_MIN = 10  # fewer say nothing about growth


@dataclass(frozen=True, slots=True)
class Sample:
    """Megabytes of one driver at a moment of the monotonic clock."""

    at: float
    driver: int
    python: float
    jvm: float


@dataclass(frozen=True, slots=True)
class Growth:
    """A line through the samples: where it begins, and what it gains until the end, as a share of that."""

    began: float
    share: float

    def __str__(self) -> str:
        return f"{self.began:.1f} MB {self.share:+.2%}"


def growth(points: Sequence[tuple[float, float]]) -> Growth:
    """Least squares: one sample at either end decides nothing."""
    times, values = zip(*points, strict=True)
    middle, mean = sum(times) / len(times), sum(values) / len(values)
    spread = sum((time - middle) ** 2 for time in times)
    slope = sum((time - middle) * (value - mean) for time, value in points) / spread
    began = mean + slope * (times[0] - middle)
    return Growth(began, slope * (times[-1] - times[0]) / began)


@dataclass(slots=True)
class Meter:
    """``driver`` names the process to look at, as long as there is one."""

    driver: Callable[[], int | None]
    samples: list[Sample] = field(default_factory=list)
    _done: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        while not self._done.wait(SAMPLE_SECONDS):
            driver = self.driver()
            jvm = jvms_below(driver, "SparkSubmit") if driver else []
            if driver and jvm:
                python, java = memory_mb(driver), memory_mb(jvm[0])
                if python is not None and java is not None:  # else it died while we looked
                    self.samples.append(Sample(time.monotonic(), driver, python, java))

    def stop(self) -> None:
        self._done.set()

    def since(self, at: float) -> list[Sample]:
        """Of the driver that lives last, from a moment on."""
        return [one for one in self.samples if one.at >= at and one.driver == self.samples[-1].driver]
