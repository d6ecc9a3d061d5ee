"""Faults of the list in reliability.md, section 3, as named switches. Each run switches some of them on (a swarm:
runs in which everything happens hide what needs quiet), and there is an end to them, so that every run can end well.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from tests.simulation.choices import Choices, Stream

# name -> (probability at each opportunity, faults of the list)
SWITCHES: dict[str, tuple[float, str]] = {
    "unit fails": (0.04, "F1"),
    "subtask dies": (0.02, "F1, F6, F55"),
    "snapshot fails": (0.05, "F2"),
    "restore fails": (0.04, "F3, F6"),
    "commit fails before": (0.25, "F4"),
    "commit fails after": (0.25, "F4"),
    "commit refused for a while": (0.15, "F4, F18"),
    "driver crashes": (0.006, "F7"),
    "driver crashes in store write": (0.08, "F7, F25"),
    "driver crashes in commit": (0.08, "F7"),
    "driver crashes in set-up": (0.1, "F7"),
    "second driver": (0.01, "F8"),
    "ack lost": (0.03, "F14"),
    "ack twice": (0.06, "F14"),
    "ack late": (0.05, "F14, F15, F16"),
    "trigger lost": (0.05, "F17"),
    "trigger twice": (0.06, "F14"),
    "notice lost": (0.08, "F18"),
    "notice twice": (0.08, "F18"),
    "message late": (0.04, "F14"),
    "channel slow": (0.02, "F19, F20"),
    "store write fails": (0.12, "F22"),
    "store slow": (0.1, "F22"),
    "delete fails": (0.3, "F26"),
    "store reads stale": (0.5, "F23"),
    "record damaged": (0.5, "F24"),
    "clock jumps": (0.004, "F27"),
    "slow worker": (0.03, "F19"),
    "zombie worker": (0.5, "F11, F15"),
    "replay makes other rows": (0.2, "F13, F57"),
}
HARMLESS = frozenset(("channel slow", "slow worker", "store slow", "message late", "zombie worker"))
"""Delays: they do not use up the budget of faults."""


@dataclass
class Faults:
    """``budget`` is how many may still strike; ``struck`` how often each did."""

    choices: Choices
    on: frozenset[str] = frozenset()
    budget: int = 0
    struck: Counter[str] = field(default_factory=Counter)
    rates: dict[str, float] = field(default_factory=dict)
    streams: dict[str, Stream] = field(default_factory=dict)

    def choose(self) -> None:
        """Which switches this run has, and how many faults."""
        switches = self.choices.switches
        share = switches.pick((0.0, 0.15, 0.3, 0.3, 0.6))
        self.budget = switches.between(0, 9)
        self.on = frozenset(name for name in SWITCHES if switches.chance(share))
        self.rates = {name: SWITCHES[name][0] for name in self.on}
        self.streams = {name: self.choices.stream(name) for name in SWITCHES}

    def strikes(self, name: str) -> bool:
        """Whether this fault happens here and now."""
        rate = self.rates.get(name)
        if rate is None or (self.budget <= 0 and name not in HARMLESS) or not self.streams[name].chance(rate):
            return False
        if name not in HARMLESS:
            self.budget -= 1
        self.struck[name] += 1
        return True

    def end(self) -> None:
        """From now on everything works."""
        self.rates = {}
