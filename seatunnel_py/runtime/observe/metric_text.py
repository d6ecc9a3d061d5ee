"""Writes metrics in the text format of Prometheus, version 0.0.4. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple


class MetricKind(StrEnum):
    """The types of metrics that are used."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class Sample(NamedTuple):
    """One line. ``suffix``: of the metric's name, for the parts of a histogram."""

    labels: Mapping[str, str]
    value: float
    suffix: str = ""


@dataclass(frozen=True, slots=True)
class Metric:
    """All samples of one name; each has other labels."""

    name: str
    kind: MetricKind
    help: str
    samples: list[Sample] = field(default_factory=list)


def text_of(metrics: Iterable[Metric]) -> str:
    """The document, of metrics with samples."""
    return "".join(line for metric in metrics if metric.samples for line in _lines(metric))


def _lines(metric: Metric) -> Iterator[str]:
    name, pair = metric.name, _pair
    yield f"# HELP {name} {_escaped(metric.help)}\n# TYPE {name} {metric.kind.value}\n"
    for labels, value, suffix in metric.samples:
        shown = f"{{{','.join([pair(*one) for one in labels.items()])}}}" if labels else ""
        yield f"{name}{suffix}{shown} {value if type(value) is int else _number(value)}\n"


@lru_cache(maxsize=65_536)  # a label has the same value in many lines
def _pair(key: str, value: str) -> str:
    quoted = _escaped(value).replace('"', '\\"')
    return f'{key}="{quoted}"'


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def _number(value: float) -> str:
    whole = int(value)
    return str(whole) if whole == value else repr(float(value))
