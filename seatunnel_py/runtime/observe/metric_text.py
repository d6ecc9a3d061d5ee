"""Writes metrics in the text format of Prometheus, version 0.0.4. Pure.

A document has tens of thousands of lines, and many of these have the same labels: the text of labels is made once, and
lines that are made together stay one text.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache


class MetricKind(StrEnum):
    """The types of metrics that are used."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Metric:
    """All samples of one name; each is a line, and has other labels. ``texts``: of one line or of many."""

    name: str
    kind: MetricKind
    help: str
    texts: list[str] = field(default_factory=list)

    def add(self, value: float, labels: str = "", suffix: str = "") -> None:
        """Add a sample. ``labels``: by ``label_text``; ``suffix``: of the name, for the parts of a histogram."""
        shown = value if type(value) is int else _number(value)
        self.texts.append(f"{self.name}{suffix}{{{labels}}} {shown}\n" if labels else f"{self.name}{suffix} {shown}\n")

    def extend(self, samples: Iterable[tuple[str, int]], suffix: str = "", labels: str = "") -> None:
        """Add many samples, as pairs of further labels and a whole number; all have these ``labels``."""
        start = f"{self.name}{suffix}{{{labels}"
        if text := "".join([f"{start}{further}}} {value}\n" for further, value in samples]):
            self.texts.append(text)


def text_of(metrics: Iterable[Metric]) -> str:
    """The document, of metrics with samples."""
    return "".join(part for metric in metrics if metric.texts for part in (_head(metric), *metric.texts))


def label_text(**labels: str) -> str:
    """The labels as they stand in a line, without braces."""
    return ",".join([f'{key}="{_quoted(value)}"' for key, value in labels.items()])


def _head(metric: Metric) -> str:
    return f"# HELP {metric.name} {_escaped(metric.help)}\n# TYPE {metric.name} {metric.kind.value}\n"


@lru_cache(maxsize=8_192)  # a job or a table has the same name in many lines
def _quoted(value: str) -> str:
    return _escaped(value).replace('"', '\\"')


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def _number(value: float) -> str:
    whole = int(value)
    return str(whole) if whole == value else repr(float(value))
