"""Decides which jobs `jobs prune` chooses, and which ones must be kept. Pure: facts in, decisions out.

Rules. (1) A job that runs is never removed, nor one whose source keeps a log for it, whose savepoints exist, or whose
bad rows are being replayed. (2) A job that can go on, and bad rows that were not replayed, need the user's consent.
(3) Several rules of `prune` restrict each other.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.nouns import counted

DEFAULT_STATES = frozenset({"SUCCESS", "DROPPED"})
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_AGE = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw])")


@dataclass(frozen=True, slots=True)
class EndedJob:
    """A job as far as `prune` chooses by it. ``ended``: seconds since the epoch; the start, if the end is not known."""

    job_id: str
    name: str
    state: str
    ended: float


@dataclass(frozen=True, slots=True)
class PruneRule:
    """``older``: seconds since the end at least, None: any; ``keep``: the newest ones of each name stay; ``states``:
    those that are chosen; ``named``: the user has named them, and so allows to remove jobs that can go on."""

    older: float | None = None
    keep: int | None = None
    states: frozenset[str] = DEFAULT_STATES
    named: bool = False

    def chosen(self, jobs: Iterable[EndedJob], at: float) -> Sequence[EndedJob]:
        """The jobs that this rule removes, oldest first; ``at``: now."""
        newest_first = sorted((job for job in jobs if job.state in self.states), key=lambda job: -job.ended)
        before: Counter[str] = Counter()
        found = []
        for job in newest_first:
            before[job.name] += 1
            old = self.older is None or at - job.ended >= self.older
            if old and (self.keep is None or before[job.name] > self.keep):
                found.append(job)
        return found[::-1]


@dataclass(frozen=True, slots=True)
class RemovalFacts:
    """Facts that decide whether a job may go. ``can_go_on``: a run could resume it. ``keeps_log``: its source may keep
    a log for it. ``savepoints``: names of its own. ``replay``: the running replay of its bad rows, or empty.
    ``replay_of``: it is a replay of that job, and not marked as done. ``bad_rows``: those that wait."""

    job_id: str
    running: bool = False
    can_go_on: bool = False
    keeps_log: bool = False
    savepoints: tuple[str, ...] = ()
    replay: str = ""
    replay_of: str = ""
    bad_rows: int = 0


@dataclass(frozen=True, slots=True)
class Consent:
    """Consent of the user to delete more: jobs that can go on, and bad rows that wait."""

    unfinished: bool = False
    bad_rows: bool = False


@dataclass(frozen=True, slots=True)
class KeptJob:
    """Why a job is kept, and what helps."""

    job_id: str
    why: str
    remedy: str


def obstacle(facts: RemovalFacts, consent: Consent) -> KeptJob | None:
    """The first reason to keep a job; None: it may go."""
    for applies, why, remedy in _reasons(facts, consent):
        if applies:
            return KeptJob(facts.job_id, why, remedy)
    return None


def _reasons(facts: RemovalFacts, consent: Consent) -> Iterable[tuple[bool, str, str]]:
    job = facts.job_id
    yield facts.running, "it is running", f"`seatunnel jobs cancel {job}` ends it"
    first = next(iter(facts.savepoints), "")
    more = f" and {len(facts.savepoints) - 1} more" * (len(facts.savepoints) > 1)
    needed = f"a job may start from its savepoint {first!r}{more}"
    yield bool(first), needed, f"`seatunnel state drop {first}` deletes it"
    log = "its source may keep a log for it, such as a replication slot"
    yield facts.keeps_log, log, f"`seatunnel jobs drop {job} --yes` gives the job up, and drops that"
    yield bool(facts.replay), f"{facts.replay} replays its bad rows", "try again once that has ended"
    undone = f"it has replayed bad rows of {facts.replay_of}, which do not count as delivered"
    yield bool(facts.replay_of), undone, f"`seatunnel quarantine replay {facts.replay_of}` completes that"
    goes_on = f"`seatunnel jobs restore {job}` resumes it; --unfinished removes it, and the state to resume from"
    yield facts.can_go_on and not consent.unfinished, "it can go on", goes_on
    waits = f"{counted(facts.bad_rows, 'bad row')} of it {'waits' if facts.bad_rows == 1 else 'wait'} to be replayed"
    replays = f"`seatunnel quarantine replay {job}` delivers them; --bad-rows deletes them with the job"
    yield bool(facts.bad_rows) and not consent.bad_rows, waits, replays


def age(text: str) -> float:
    """Seconds of ``7d``, ``12h``, ``1.5d``. Raises SeaTunnelError."""
    found = _AGE.fullmatch(text.strip().lower())
    if found is None:
        raise SeaTunnelError(f"{text!r} is not an age", "write a number and s, m (minutes), h, d or w, as in 7d")
    return float(found[1]) * _UNITS[found[2]]
