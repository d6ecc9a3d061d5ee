"""The jobs of a lineage: those that have started from one another's savepoints, and may read from the same place.

Rules. (1) They have numbers in the order of their starts; the first job of a lineage has 0. (2) A job counts as a
reader until it is noted that it will not go on: at the end of its last run, or by `seatunnel jobs drop`.
"""

from __future__ import annotations

from dataclasses import dataclass

from seatunnel_py.runtime.storage.savepoint_locations import SavepointLocations
from seatunnel_py.runtime.storage.savepoint_store import INCARNATIONS_APART


@dataclass(frozen=True, slots=True)
class Readers:
    """The savepoints of a job, and the jobs of its lineage that have not ended, started before and after it: all may
    read from the same place. The name of a job is empty if it is not known."""

    savepoints: tuple[str, ...]
    earlier: tuple[str, ...]
    later: tuple[str, ...]

    @property
    def sentences(self) -> tuple[str, ...]:
        """A sentence for each that keeps everything from the command."""
        return (
            *(f"the savepoint {name!r} reads from there" for name in self.savepoints),
            *(f"{shown_job(one)} started from a savepoint of this job, and may read from there" for one in self.later),
        )

    @property
    def remedy(self) -> str:
        """How these end."""
        jobs = ", ".join(f"`seatunnel jobs drop {one or 'JOB'}`" for one in self.later)
        return "; ".join(
            (
                *(f"`seatunnel state drop {name}` deletes the savepoint" for name in self.savepoints),
                *((f"{jobs} gives that job up",) if jobs else ()),
            )
        )


@dataclass(frozen=True, slots=True)
class LineageMember:
    """A job among those that have started from one another's savepoints. ``lineage``: empty for a job that has not
    begun; ``number``: of its start (rule 5)."""

    job_id: str
    lineage: str
    number: int

    @staticmethod
    def of(job_id: str, lineage: str, incarnation: int) -> LineageMember:
        """The member whose newest driver has this incarnation."""
        return LineageMember(job_id, lineage, incarnation // INCARNATIONS_APART)

    def end(self, places: SavepointLocations) -> None:
        """Note that the job will not go on."""
        if self.lineage:
            with places.own() as shelf:
                shelf.end(self.lineage, self.number)

    def readers(self, places: SavepointLocations) -> Readers:
        """The savepoints and jobs that may read from the place of this job. Raises SavepointError for a damaged
        savepoint."""
        names: list[str] = []
        jobs, ended = {0: ""}, {self.number}
        for shelf in places.all():
            names += shelf.of_job(self.job_id, self.lineage)
            if self.lineage:
                jobs |= shelf.starts(self.lineage)
                ended |= shelf.ended(self.lineage)
        others = {number: job for number, job in sorted(jobs.items()) if number not in ended}
        earlier = tuple(job for number, job in others.items() if number < self.number)
        later = tuple(job for number, job in others.items() if number > self.number)
        return Readers(tuple(dict.fromkeys(names)), earlier, later)


def shown_job(job_id: str) -> str:
    """A job of a lineage for messages; its id may not be known."""
    return f"the job {job_id!r}" if job_id else "a job"
