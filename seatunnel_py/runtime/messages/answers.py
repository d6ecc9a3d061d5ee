"""The values of answers: what the machine of a pipeline learns of plugins that stay with the performer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from seatunnel_py.api.source import Enumerator
from seatunnel_py.runtime.resume.pipeline_start import StartPlan
from seatunnel_py.runtime.values.split_progress import SplitRound


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """Facts of an open enumerator. ``listens``: it takes the positions of the oldest checkpoint; ``interval``: seconds
    between two searches for splits, None: one search is enough."""

    listens: bool = False
    interval: float | None = None


@dataclass(frozen=True, slots=True)
class Prepared:
    """The start of a pipeline, and the facts of its open enumerators, by vertex."""

    plan: StartPlan
    sources: Mapping[str, SourceFacts]


@dataclass(frozen=True, slots=True)
class ReopenedRounds:
    """All splits of a source that was opened again, under the current generation."""

    rounds: tuple[SplitRound, ...]
    facts: SourceFacts


def facts_of(enumerator: Enumerator) -> SourceFacts:
    """The facts of an enumerator that has just been opened."""
    listens = type(enumerator).on_checkpoint_complete is not Enumerator.on_checkpoint_complete
    return SourceFacts(listens, enumerator.interval)
