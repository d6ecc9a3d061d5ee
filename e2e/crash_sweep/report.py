"""The journal of a sweep, which it can be resumed from, and its table."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from e2e.crash_sweep.runner import Outcome


def load(path: Path) -> list[Outcome]:
    """Outcomes of earlier chunks; a torn last line is one that is run again."""
    found = []
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            plain = json.loads(line)
        except ValueError:
            continue
        found.append(Outcome(**{**plain, "killed": tuple(plain["killed"]), "violations": tuple(plain["violations"])}))
    return found


def append(path: Path, outcome: Outcome) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(json.dumps(asdict(outcome)) + "\n")


def table(outcomes: Sequence[Outcome]) -> str:
    """Kills by recipe and moment, and every violation in full."""
    kills: Counter[tuple[str, str, str]] = Counter()
    for outcome in outcomes:
        for kill in outcome.killed:
            victim, _, at = kill.partition(" at ")
            kills[outcome.recipe, victim, at.partition("@")[0]] += 1
    lines = [f"{'recipe':<17}{'victim':<15}{'at':<32}kills"]
    lines += [f"{recipe:<17}{victim:<15}{at:<32}{number:>5}" for (recipe, victim, at), number in sorted(kills.items())]
    broken = [outcome for outcome in outcomes if outcome.violations]
    for outcome in broken:
        lines += ["", f"VIOLATED {outcome.case}", *(f"    {violation}" for violation in outcome.violations)]
    looks = sum(outcome.looks for outcome in outcomes)
    lines += [
        "",
        f"{kills.total()} kills in {len(outcomes)} jobs, looked at {looks} times meanwhile: "
        f"{len(broken)} jobs with a violation",
    ]
    return "\n".join(lines)
