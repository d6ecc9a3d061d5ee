"""Splits whose generation is gone (an exported snapshot died with its connection) while the pipeline runs.

Rules. (1) Where splits may be read as of different moments (``source.consistency = per-split``) they go on where they
stand, under what is valid now: the source is opened again, the units that failed are tried again. (2) Elsewhere what
was read is worth nothing, and the failure is fatal: whoever runs the job again begins the table anew. (3) It costs the
unit an attempt, so that a snapshot which never holds ends the table.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from seatunnel_py.errors import GenerationLost
from seatunnel_py.runtime import effects
from seatunnel_py.runtime.effects import Prepared
from seatunnel_py.work.unit import UnitFailure

if TYPE_CHECKING:
    from seatunnel_py.runtime.pipeline_life import PipelineLife
    from seatunnel_py.runtime.subtask_run import SubtaskRun

_LOST = f"{GenerationLost.__module__}.{GenerationLost.__qualname__}"


class Renewing:
    """``_waiting``: by vertex whose source is being opened again, the subtasks whose units wait for that."""

    def __init__(self, life: PipelineLife) -> None:
        self._life = life
        self._waiting: dict[str, list[SubtaskRun]] = {}

    def takes(self, run: SubtaskRun, failure: UnitFailure) -> bool:
        """Whether the unit of this subtask will be tried again under what is valid then."""
        life, unit = self._life, run.unit
        assert unit is not None, "no unit was under way"
        mine = failure.error_type == _LOST and life.settings.per_split and unit.split is not None
        if not mine or unit.id.attempt >= life.settings.retry.times:
            return False
        name = run.vertex.id
        if name in self._waiting:
            self._waiting[name].append(run)
        elif unit.split != run.split(unit):
            self._again(run)  # another one has found it out before
        else:
            self._waiting[name] = [run]
            life.retrying("renew", unit.id.attempt + 1, 0.0, failure)
            opening = partial(effects.reopen, run.vertex, life.prepared)
            life.aside("renew", opening, partial(self._opened, name), life.give_up, late=life.opened)
        return True

    def _opened(self, name: str, prepared: Prepared) -> None:
        self._life.enumerating.grown(name, prepared)
        for run in self._waiting.pop(name):
            self._again(run)

    def _again(self, run: SubtaskRun) -> None:
        unit = run.unit
        if unit is not None:  # else its life has ended meanwhile
            run.unit = replace(unit, id=replace(unit.id, attempt=unit.id.attempt + 1), split=run.split(unit))
            self._life.units.submit(run, run.unit)
