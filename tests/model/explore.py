"""Explore small instances of the shipping protocol wholly: `python -m tests.model.explore [--instance NAME]`.

Breadth-first over all states that `explored_world.py` can reach, each looked at once: it is known by a digest of 16
bytes of its canonical form, in which no time and no absolute checkpoint id stands. The first violation is printed with
its path, a shortest one in the first half of the budget; from half-way on the search goes into the depth. An instance
is explored wholly, or the table says where it was cut short. Seconds are of the processor.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from tests.model.explored_canon import Canon
from tests.model.explored_checks import Violated
from tests.model.explored_instances import BY_NAME, INSTANCES, Instance
from tests.model.explored_words import words
from tests.model.explored_world import State, World

HEAD = f"{'instance':<20} {'states':>10} {'transitions':>12} {'depth':>6} {'seconds':>8} {'states/s':>9}  verdict"

HALF = 0.5


@dataclass
class Result:
    """``path``: the steps to a violation; ``whole``: every state that can be reached was looked at; ``ends``: what the
    targets can show at the end, ``cut``: steps behind the bound of the instance that were not taken."""

    instance: Instance
    states: int = 0
    transitions: int = 0
    depth: int = 0  # of the breadth-first part
    seconds: float = 0.0
    whole: bool = False
    ends: int = 0
    cut: int = 0
    violation: str = ""
    path: list[str] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        if self.violation:
            return f"VIOLATED {self.violation}"
        beyond = f", {self.cut:,} steps beyond {self.instance.checkpoints} checkpoints not taken" if self.cut else ""
        return f"{'whole' if self.whole else f'truncated at {self.states:,}'}{beyond}; {self.ends:,} ends"

    def row(self) -> str:
        speed = self.states / max(self.seconds, 0.001)
        return (
            f"{self.instance.name:<20} {self.states:>10,} {self.transitions:>12,} {self.depth:>6} {self.seconds:>8.1f} "
            f"{speed:>9,.0f}  {self.verdict}"
        )


def explore(instance: Instance, states_max: int = 10**9, seconds_max: float = 1e9) -> Result:
    """Breadth-first, so that the first violation is a nearest one; what is too large, depth-first from half-way on."""
    world, result, start = World(instance), Result(instance), time.process_time()
    digest, check = Canon(world.machines).digest, world.check
    first = world.initial()
    visited = {digest(first): 0}
    parents = array("l", [-1])
    frontier: list[tuple[int, State]] = [(0, first)]
    breadth = True
    while frontier:
        following: list[tuple[int, State]] = []
        for number, state in frontier if breadth else (frontier.pop(),):
            try:
                check(state)
                result.ends += state.ended
                steps = world.successors(state)
            except Violated as violated:
                result.violation = str(violated)
                result.path = retrace(world, first, state, digest, list(visited), parents, number)
                frontier = following = []
                break
            result.transitions += len(steps)
            for _, after in steps:
                key = digest(after)
                if key not in visited:
                    visited[key] = len(visited)
                    parents.append(number)
                    following.append((len(visited) - 1, after))
        if breadth:
            frontier = following
            result.depth += bool(following)
        else:
            frontier.extend(following)
        spent = max(len(visited) / states_max, (time.process_time() - start) / seconds_max)
        # What cannot be explored wholly is explored to its ends at least: the second half goes into the depth.
        breadth = spent < HALF
        if spent >= 1:
            break
    result.whole = not frontier and not result.violation
    result.states, result.cut, result.seconds = len(visited), world.cut, time.process_time() - start
    return result


def retrace(
    world: World, first: State, last: State, digest: Callable[[State], bytes], keys: Sequence[bytes],
    parents: Sequence[int], number: int,
) -> list[str]:  # fmt: skip
    """The names of the steps on the way to a state, and of the one behind it that broke something."""
    way = []
    while number > 0:
        way.append(keys[number])
        number = parents[number]
    told, state = [], first
    for key in reversed(way):
        name, state = next(one for one in world.successors(state) if digest(one[1]) == key)
        told.append(words(world.machines, name))
    return [*told, f"then: {_last(world, last)}"]


def _last(world: World, state: State) -> str:
    """The step that cannot be taken; the names of those that can are of no interest."""
    try:
        world.check(state)
    except Violated as violated:
        return f"the state itself: {violated}"
    done: list[str] = []
    for part in _parts(world, state):
        try:
            for name, _ in part:
                done.append(name)
        except Violated as violated:
            behind = f"after {words(world.machines, done[-1])}" if done else "at first"
            return f"{getattr(part, '__name__', 'a step')} {behind}: {violated}"
    return "nothing is possible"


def _parts(world: World, state: State) -> Iterator[Iterator[tuple[str, State]]]:
    if state.coordinator >= 0:
        yield world._deliveries(state)
        yield world._work(state)
        yield world._timers(state)
        if state.faults:
            yield world._faults(state)
    yield world._writes(state)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.model.explore", description=__doc__)
    parser.add_argument("--instance", choices=sorted(BY_NAME), action="append", help="only this one")
    parser.add_argument("--states-max", type=int, default=3_000_000, metavar="N", help="of each instance")
    parser.add_argument("--seconds-max", type=float, default=90.0, help="of each instance")
    options = parser.parse_args(arguments)
    chosen = [BY_NAME[name] for name in options.instance] if options.instance else INSTANCES
    print(HEAD, flush=True)
    gc.disable()  # states are tuples of numbers: nothing goes in circles but copies of machines, which are few
    found = []
    for instance in chosen:
        found.append(explore(instance, options.states_max, options.seconds_max))
        print(found[-1].row(), flush=True)
        for at, step in enumerate(found[-1].path, 1):
            print(f"  {at:>3} {step}")
        gc.collect()
    gc.enable()
    states, seconds = sum(one.states for one in found), sum(one.seconds for one in found)
    bad = sum(bool(one.violation) for one in found)
    whole = sum(one.whole for one in found)
    print(f"{states:,} distinct states in {seconds:.0f} s; {whole} of {len(found)} instances wholly; {bad} violations")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
