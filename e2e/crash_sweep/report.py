"""The journal of a sweep, which it can be resumed from, and its tables."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from e2e.crash_sweep.cases import MOMENTS, Victim, is_moment

KILLS_MIN = 500  # what the long form is measured by
_ROWS = re.compile(r"(\d+) rows (lost|duplicated)")


@dataclass(frozen=True, slots=True)
class Outcome:
    """``violations`` is empty where everything held; ``killed`` are the kills that happened."""

    case: str
    recipe: str
    killed: tuple[str, ...]
    violations: tuple[str, ...]
    seconds: float
    looks: int = 0

    @property
    def failed(self) -> bool:
        """It did not end, and said so."""
        return any("does not end" in one for one in self.violations)


@dataclass(frozen=True, slots=True)
class Damage:
    """What the jobs of one recipe have come to. A job that did not end has said so: what it lacks is not lost."""

    jobs: int
    kills: int
    lost: int
    duplicated: int
    left_behind: int
    not_ended: int
    broken: int

    @classmethod
    def of(cls, outcomes: Sequence[Outcome]) -> Damage:
        said = [violation for outcome in outcomes for violation in outcome.violations]
        of_ended = [violation for outcome in outcomes if not outcome.failed for violation in outcome.violations]
        rows: Counter[str] = Counter()
        for number, what in (found for one in of_ended for found in _ROWS.findall(one)):
            rows[what] += int(number)
        return cls(
            len(outcomes),
            sum(victim != Victim.NOBODY for _, victim, _ in _kills(outcomes)),
            rows["lost"],
            rows["duplicated"],
            sum("left behind" in one for one in said),
            sum(outcome.failed for outcome in outcomes),
            sum(bool(outcome.violations) for outcome in outcomes),
        )


def load(path: Path) -> list[Outcome]:
    """Outcomes of earlier chunks; a torn last line is one that is run again."""
    found: dict[str, Outcome] = {}
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            plain = json.loads(line)
        except ValueError:
            continue
        one = Outcome(**{**plain, "killed": tuple(plain["killed"]), "violations": tuple(plain["violations"])})
        found[one.case] = one
    return list(found.values())


def append(path: Path, outcome: Outcome) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(json.dumps(asdict(outcome)) + "\n")


def table(outcomes: Sequence[Outcome]) -> str:
    """Kills by recipe and moment, and every violation in full."""
    kills: Counter[tuple[str, str, str]] = Counter()
    for recipe, victim, at in _kills(outcomes):
        kills[recipe, victim, at.partition("@")[0]] += 1
    lines = [f"{'recipe':<19}{'victim':<15}{'at':<32}kills"]
    lines += [f"{recipe:<19}{victim:<15}{at:<32}{number:>5}" for (recipe, victim, at), number in sorted(kills.items())]
    for outcome in outcomes:
        if outcome.violations:
            lines += ["", f"VIOLATED {outcome.case}", *(f"    {violation}" for violation in outcome.violations)]
    return "\n".join(lines)


def moments(outcomes: Sequence[Outcome]) -> str:
    """A row for each crash point of a commit, and for an older driver that wakes up: kills, and over how many recipes."""
    lines = ["", f"{'the driver was killed':<62}{'kills':>5}{'recipes':>9}"]
    lines += [f"{name:<62}{kills:>5}{recipes:>9}" for name, kills, recipes in by_moment(outcomes)]
    return "\n".join(lines)


def by_moment(outcomes: Sequence[Outcome]) -> Iterator[tuple[str, int, int]]:
    """Each moment, its kills, and how many recipes they were of."""
    for name in MOMENTS:
        hit = [recipe for recipe, victim, at in _kills(outcomes) if victim == Victim.DRIVER and is_moment(name, at)]
        yield name, len(hit), len(set(hit))
    older = [recipe for recipe, victim, _ in _kills(outcomes) if victim == Victim.OLDER]
    yield "older: stopped, overtaken by a second driver, woken up", len(older), len(set(older))


def verdict(outcomes: Sequence[Outcome], bar: int | None) -> str:
    """The figures in a line, and where there is a bar, whether it is reached."""
    damage, looks = Damage.of(outcomes), sum(outcome.looks for outcome in outcomes)
    said = (
        f"\n{damage.kills} kills in {damage.jobs} jobs, looked at {looks} times meanwhile: {damage.lost} rows lost, "
        f"{damage.duplicated} duplicated, {damage.left_behind} things left behind; {damage.broken} jobs with a violation"
    )
    if bar is None:
        return said
    missing = [name for name, kills, _ in by_moment(outcomes) if not kills]
    met = damage.kills >= bar and not damage.broken and not missing
    return f"{said}\nbar: {bar} kills, every moment, no violation: {'MET' if met else 'NOT REACHED'}"


def _kills(outcomes: Iterable[Outcome]) -> Iterator[tuple[str, str, str]]:
    """Recipe, victim, and the moment with its number."""
    for outcome in outcomes:
        for kill in outcome.killed:
            victim, _, at = kill.partition(" at ")
            yield outcome.recipe, victim, at
