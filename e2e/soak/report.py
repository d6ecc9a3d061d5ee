"""What a soak has shown: a table, and a verdict for each part of the bar."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from e2e.soak.memory import SAMPLES_MIN, Sample, growth
from e2e.soak.victims import Kill, Victim

GROWTH_MAX = 0.03
SHOWN_MAX = 30
KILLED, STOPPED = 137, 143


@dataclass(frozen=True, slots=True)
class Outcome:
    """``kills`` are those that happened; ``exits`` the codes of all drivers; ``wrong`` rows that are not as they were
    sent; ``left`` what should be gone; ``memory`` that of one driver over the second half."""

    kills: tuple[Kill, ...]
    exits: tuple[int, ...]
    rows: int
    wrong: tuple[str, ...]
    left: tuple[str, ...]
    memory: tuple[Sample, ...]
    seconds: float

    @property
    def reached(self) -> bool:
        return all(met for _, met, _ in verdicts(self))


def verdicts(outcome: Outcome) -> list[tuple[str, bool, list[str]]]:
    """Each part of the bar: what it says, whether it holds, and what is to be said about it."""
    asked = sum(kill.victim is Victim.DRIVER for kill in outcome.kills)
    exits = f"drivers ended: {', '.join(map(str, outcome.exits))}"
    unasked = [exits] if Counter(outcome.exits) != Counter({KILLED: asked, STOPPED: 2}) else []
    figures, small = _memory(outcome.memory)
    return [
        ("every row once, in its order", not outcome.wrong, list(outcome.wrong)),
        ("no driver ended that nobody killed", not unasked, unasked),
        (f"the driver's resident memory grows < {GROWTH_MAX:.0%} over the second half", small, figures),
        ("nothing is left behind", not outcome.left, list(outcome.left)),
    ]


def _memory(samples: Sequence[Sample]) -> tuple[list[str], bool]:
    if len(samples) < SAMPLES_MIN:
        return [f"{len(samples)} samples say nothing"], False
    whole = growth([(one.at, one.python + one.jvm) for one in samples])
    parts = {
        "Python": growth([(one.at, one.python) for one in samples]),
        "JVM": growth([(one.at, one.jvm) for one in samples]),
    }
    shown = ", ".join(f"{name} {part}" for name, part in parts.items())
    took = samples[-1].at - samples[0].at
    return [f"{whole} in {took:.0f} s ({shown}; {len(samples)} samples)"], whole.share < GROWTH_MAX


def table(outcome: Outcome) -> str:
    """For people."""
    counted = Counter(kill.victim for kill in outcome.kills)
    lines = [
        "",
        *(f"{victim:<22}{counted[victim]:>4} kills" for victim in Victim),
        f"{outcome.rows} rows, {len(outcome.kills)} kills, {outcome.seconds:.0f} s",
        "",
    ]
    for what, met, said in verdicts(outcome):
        lines.append(f"{'MET' if met else 'NOT REACHED':<12} {what}")
        lines += [f"             {one}" for one in said[:SHOWN_MAX]]
        lines += [f"             … and {len(said) - SHOWN_MAX} more"] if len(said) > SHOWN_MAX else []
    return "\n".join(lines)
