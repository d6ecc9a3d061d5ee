"""What a job has stored, as a mapping of names to bytes, and how one or more of these things are damaged; pure.

Names are paths below the job's directory; what lies in a store elsewhere stands under ``store/``, with the number of its
part: ``store/records/p-00000001+0``.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from e2e.damage.kinds import damaged

Things = Mapping[str, bytes]
STORE = "store/"
TOP = {"checkpoints", "store"}
"""Directories that are weighed as one thing each."""


@dataclass(frozen=True, slots=True)
class Others:
    """``older``: the same job as it was after an earlier kill; ``jobs``: other jobs of the same id."""

    older: Sequence[Things] = ()
    jobs: Sequence[Things] = ()


@dataclass(frozen=True, slots=True)
class Damage:
    """``what`` was damaged, and how; what is there then."""

    what: str
    kind: str
    things: Things

    def touched(self, before: Things) -> list[str]:
        """The names under which something else is there than before."""
        return sorted(name for name in {*before, *self.things} if before.get(name) != self.things.get(name))


Kind = Callable[[random.Random, Things, Others], Damage | None]


def damage(chance: random.Random, things: Things, others: Others) -> Damage:
    """One damage of some kind, which changes something: in half of all cases of the bytes of one thing."""
    while True:
        kind = chance.choice([_bytes, chance.choice(WHOLE)])
        found = kind(chance, things, others)
        if found is not None and found.things != things:
            return found


def _one(chance: random.Random, things: Iterable[str]) -> str:
    """A store has few things, all of which count."""
    names = sorted(things)
    return chance.choice([*names, *(name for name in names if name.partition("/")[0] in TOP)])


def _bytes(chance: random.Random, things: Things, others: Others) -> Damage:
    name = _one(chance, things)
    beside = [data for other, data in sorted(things.items()) if other != name]
    kind, data = damaged(chance, things[name], beside)
    rest = {other: held for other, held in things.items() if other != name}
    return Damage(name, kind, rest if data is None else {**rest, name: data})


def _exchanged(chance: random.Random, things: Things, _: Others) -> Damage | None:
    """Two things stand under each other's name."""
    one, two = _one(chance, things), _one(chance, things)
    return Damage(f"{one}, {two}", "exchanged", {**things, one: things[two], two: things[one]})


def _copied(chance: random.Random, things: Things, _: Others) -> Damage | None:
    """Something is there a second time, under another name: one digit of it differs."""
    name = _one(chance, things)
    start, part = (name.rpartition("+")[0], name[name.rindex("+") :]) if name.startswith(STORE) else (name, "")
    places = [at for at, one in enumerate(start) if one.isdigit()]
    if not places:
        return None
    at = chance.choice([places[-1], chance.choice(places)])
    copy = f"{start[:at]}{(int(start[at]) + chance.randrange(1, 10)) % 10}{start[at + 1 :]}{part}"
    return Damage(f"{name} as {copy}", "copied", {**things, copy: things[name]})


def _older(chance: random.Random, things: Things, others: Others) -> Damage | None:
    return _from(chance, things, others.older, "older version")


def _of_another_job(chance: random.Random, things: Things, others: Others) -> Damage | None:
    return _from(chance, things, others.jobs, "of another job")


def _from(chance: random.Random, things: Things, sources: Sequence[Things], kind: str) -> Damage | None:
    """One thing as it is there."""
    source = chance.choice(sources) if sources else {}
    known = [name for name in things if name in source]
    return Damage(name := _one(chance, known), kind, {**things, name: source[name]}) if known else None


def _directory_gone(chance: random.Random, things: Things, _: Others) -> Damage | None:
    place = chance.choice(directories(things))
    return Damage(place, "directory gone", _without(things, place))


def _directory_older(chance: random.Random, things: Things, others: Others) -> Damage | None:
    return _directory_from(chance, things, others.older, "older directory")


def _directory_of_another_job(chance: random.Random, things: Things, others: Others) -> Damage | None:
    return _directory_from(chance, things, others.jobs, "directory of another job")


def _directory_from(chance: random.Random, things: Things, sources: Sequence[Things], kind: str) -> Damage | None:
    if not sources:
        return None
    source = chance.choice(sources)
    place = chance.choice(directories(things))
    there = {name: data for name, data in source.items() if name.startswith(place)}
    return Damage(place, kind, {**_without(things, place), **there})


def _without(things: Things, place: str) -> Things:
    return {name: data for name, data in things.items() if not name.startswith(place)}


def directories(things: Iterable[str]) -> list[str]:
    """All directories below the job's own, and that of its store."""
    found = {f"{parent}/" for name in things for parent in PurePosixPath(name).parents if str(parent) != "."}
    return sorted(found)


WHOLE: Sequence[Kind] = (
    _exchanged,
    _copied,
    _older,
    _of_another_job,
    _directory_gone,
    _directory_older,
    _directory_of_another_job,
)
