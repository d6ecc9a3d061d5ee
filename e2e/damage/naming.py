"""Whether a refusal names what was damaged, so that a person knows what to give back.

Rules. (1) It names the file, a directory below the job's in which it lies, or the store where that is elsewhere,
or the file in that store. (2) Where a whole store is another job's, it cannot know; what it says of the target or the job file does not fit these, and
they are named: a ledger or a directory that is gone, a job file that has changed, a transaction that the killed driver left.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from e2e.damage.scenarios import Scenario
from e2e.damage.stores import JOB
from e2e.damage.things import STORE

SHOWN_BY_OTHERS = (
    "seatunnel_ledger is gone", "has lost the mark", "has changed since the checkpoint to resume from", "a transaction is open there",
)  # fmt: skip


def names(said: str, scenario: Scenario, touched: Sequence[str]) -> bool:
    """``touched``: the names of all things that are not as they were."""
    if any(reason in said for reason in SHOWN_BY_OTHERS):
        return True
    return any(re.search(rf"{re.escape(name)}(?![\w/-])", said) for name in _known(scenario, touched))


def _known(scenario: Scenario, touched: Sequence[str]) -> Iterator[str]:
    for thing in touched:
        if thing.startswith(STORE) and scenario.at is not None:
            location = scenario.at.location.rpartition("@")[2]  # without a password or the name of a driver
            yield location
            file = PurePosixPath(JOB) / re.sub(r"[+]\d+$", "", thing.removeprefix(STORE))
            yield from (f"{location}/{one}" for one in (file, *file.parents) if str(one) != ".")
        else:
            yield str(scenario.job / thing)
            inside = PurePosixPath(thing).parents
            yield from (str(scenario.job / parent) for parent in inside if str(parent) != ".")
