"""Splits whose generation is gone (an exported snapshot died with its connection) while the pipeline runs.

Rules. (1) Where splits may be read as of different moments (``source.consistency = per-split``) they go on where they
stand, under what is valid now: the source is opened again, the units that failed are tried again. (2) Elsewhere what
was read is worth nothing: this life of the pipeline ends, and when nothing of it is at work any more another one takes
its place, as a later driver would begin it (``pipeline_start.py``). (3) Either costs an attempt, so that a snapshot
which never holds ends the table. (4) One that is to be stopped meanwhile does not begin again, nor does one whose job
another driver has taken over: it would take back what that one stages.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from seatunnel_py.errors import GenerationLostError
from seatunnel_py.protocol.coordinator.events import CancelRequested
from seatunnel_py.runtime.observe.events import ANEW
from seatunnel_py.runtime.observe.receipt import TableState
from seatunnel_py.work.unit import Unit, UnitFailure

if TYPE_CHECKING:
    from seatunnel_py.runtime.pipeline.runner import PipelineRunner
    from seatunnel_py.runtime.pipeline.subtask_runner import SubtaskRunner

_LOST = f"{GenerationLostError.__module__}.{GenerationLostError.__qualname__}"


class GenerationRenewal:
    """``void``: what the pipeline has read is worth nothing; ``tries``: how often that was so in this driver;
    ``_waiting``: by vertex whose source is being opened again, the subtasks whose units wait for that."""

    def __init__(self, life: PipelineRunner) -> None:
        self._life = life
        self.void = False
        self.tries = 0
        self._waiting: dict[str, list[SubtaskRunner]] = {}

    def takes(self, run: SubtaskRunner, failure: UnitFailure) -> bool:
        """Whether what the unit of this subtask was to read will be read under what is valid then."""
        unit = run.unit
        assert unit is not None, "no unit was under way"
        if failure.error_type != _LOST or unit.split is None or not unit.split.generation:
            return False
        return self._unit(run, unit, failure) if self._life.settings.per_split else self._all(failure)

    # ---------------------------------------------------------------- everything

    def _all(self, failure: UnitFailure) -> bool:
        life = self._life
        if self.tries >= life.settings.retry.times:
            return False
        self.void = True
        self.tries += 1
        life.failure = failure
        life.shown.retrying(ANEW, self.tries, 0.0, failure)
        life.shown.change(TableState.RETRYING, failure)
        life.hear(CancelRequested(life.now()))
        return True

    def close(self) -> None:
        """Nothing of this life is at work any more."""
        life = self._life
        if life.ending is None:
            life.leftovers.release()
            return
        life.shown.change(life.ending, life.failure)
        life.leftovers.close()

    def overtaken(self, failure: UnitFailure) -> None:
        """Another driver has the job: what there is may be its own by now."""
        self.void = False
        self._life.shown.change(self._life.failed_state, failure)
        self._life.leftovers.withdraw()

    # ---------------------------------------------------------------- one unit after the other

    def _unit(self, run: SubtaskRunner, unit: Unit, failure: UnitFailure) -> bool:
        life, name = self._life, run.vertex.id
        if unit.id.attempt >= life.settings.retry.times:
            return False
        if name in self._waiting:
            self._waiting[name].append(run)
        elif unit.split != run.split(unit):
            self._again(run)  # another one has found it out before
        else:
            self._waiting[name] = [run]
            life.shown.retrying("renew", unit.id.attempt + 1, 0.0, failure)
            life.enumerating.reopen(name, partial(self._opened, name))
        return True

    def _opened(self, name: str) -> None:
        for run in self._waiting.pop(name):
            self._again(run)

    def _again(self, run: SubtaskRunner) -> None:
        unit = run.unit
        if unit is not None:  # else its life has ended meanwhile
            run.unit = replace(unit, id=replace(unit.id, attempt=unit.id.attempt + 1), split=run.split(unit))
            self._life.units.submit(run, run.unit)
