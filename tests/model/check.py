"""Explore the Promela models with spin: `python -m tests.model.check [NAME ...] [--trail]` (default: everything).

The models are written from the rules of the protocol, not from its Python code. Every instance is searched wholly: a
search that was cut short, by depth, memory or time, counts as a failure. Every mutant is the same model with one rule
left out, and has to be found: once by any check, and once more by nothing but what a user would see (`EFFECTS`: rows
lost, twice, of nothing), unless the rule left out stops the job instead.

Needs spin and gcc: `python -m tests.servers.install spin`.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.model import spin
from tests.model.instances import INSTANCES, MUTANTS, Instance, Mutant

MODELS = Path(__file__).parent
MEMORY_MB = 7500
DEPTH = 1_000_000
TIMEOUT_S = 400.0
# gcc needs 15 s with -O2 and 3 s without; only a large search is worth that.
QUICK = "-O0"
LARGE_HASH_BITS = 26
STATES = re.compile(r"^\s*(\d+) states, stored", re.MULTILINE)
# With -DNP the stored states are counted in two parts, the visited ones are what was looked at.
SUMMARY = re.compile(r"depth reached (\d+), errors: (\d+)")
VIOLATED = re.compile(r"^pan:1: (.*?)(?: \(at depth \d+\))?$", re.MULTILINE)
RULE = re.compile(r"\b(I\d+)_([a-z_]+)")
TRUNCATED = ("Search not completed", "max search depth too small", "out of memory", "memory limit", "MEMLIM", "aborted")
HEAD = f"{'instance':<30} {'states':>11} {'depth':>6} {'seconds':>8}  verdict"


class SearchFailed(RuntimeError):
    """The search says nothing: it did not compile, did not end, or was cut short."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a whole search says. ``violated`` is None where every check holds."""

    states: int
    depth: int
    seconds: float
    violated: str | None


def name_of(complaint: str) -> str:
    """The rule that pan's first complaint is about."""
    if rule := RULE.search(complaint):
        return f"{rule[1]} {rule[2].replace('_', ' ')}"
    if "invalid end state" in complaint:
        return "I13 nothing can go on"
    if "non-progress cycle" in complaint or "acceptance cycle" in complaint:
        return "I12 runs for ever"
    return complaint


def parse(output: str, seconds: float) -> Found:
    """Read pan's report; anything but a whole search, or an error, is refused."""
    summary, states = SUMMARY.search(output), STATES.search(output)
    if summary is None or states is None or "Full statespace search for:" not in output:
        raise SearchFailed(f"no report of a full search:\n{output[-1500:]}")
    complaint = VIOLATED.search(output)
    errors = int(summary[2])
    if complaint is None:
        cut = [each for each in TRUNCATED if each in output]
        if cut or errors:
            raise SearchFailed(f"not searched wholly ({', '.join(cut) or 'errors'}):\n{output[-1500:]}")
        return Found(int(states[1]), int(summary[1]), seconds, None)
    if errors == 0:
        raise SearchFailed(f"a complaint, but no error counted:\n{output[-1500:]}")
    violated = name_of(complaint[1])
    if any(each in violated for each in TRUNCATED):
        raise SearchFailed(violated)
    return Found(int(states[1]), int(summary[1]), seconds, violated)


@contextmanager
def compiled(model: str, defines: Sequence[str], *, liveness: bool, optimise: str = QUICK) -> Iterator[Path]:
    """A directory with the search program of an instance."""
    with tempfile.TemporaryDirectory(prefix="spin-") as name:
        folder = Path(name)
        made = subprocess.run(
            [str(spin.find("spin")), "-a", *(f"-D{each}" for each in defines), str(MODELS / model)],
            cwd=folder, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if made.returncode or "Error" in made.stdout:
            raise SearchFailed(f"spin: {made.stdout}{made.stderr}")
        mode = ["-DNP", "-DNOFAIR"] if liveness else ["-DSAFETY"]
        command = [str(spin.find("gcc")), optimise, "-w", *mode, f"-DMEMLIM={MEMORY_MB}", "-o", "pan", "pan.c"]
        made = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if made.returncode:
            raise SearchFailed(f"gcc: {made.stderr}")
        yield folder


def search(instance: Instance | Mutant, extra: Sequence[str] = (), *, effects: bool = False) -> Found:
    """Explore one instance; with ``effects`` only what the target shows at the end and never that a run stops."""
    liveness = isinstance(instance, Instance) and instance.liveness
    defines = [*instance.defines, *extra, *(["EFFECTS"] if effects else [])]
    optimise = "-O2" if instance.hash_bits >= LARGE_HASH_BITS else QUICK
    with compiled(instance.model, defines, liveness=liveness, optimise=optimise) as folder:
        options = [f"-m{DEPTH}", f"-w{instance.hash_bits}", *(["-l"] if liveness else []), *(["-E"] if effects else [])]
        start = time.monotonic()
        try:
            ran = subprocess.run(
                ["./pan", *options], cwd=folder, capture_output=True, text=True, check=False, timeout=TIMEOUT_S
            )
        except subprocess.TimeoutExpired as late:
            raise SearchFailed(f"not searched wholly: longer than {TIMEOUT_S:.0f} s") from late
        return parse(ran.stdout + ran.stderr, time.monotonic() - start)


def trail(instance: Instance | Mutant) -> str:
    """The steps of the first error of an instance, in the words of the model."""
    with compiled(instance.model, instance.defines, liveness=False) as folder:
        subprocess.run(["./pan", f"-m{DEPTH}"], cwd=folder, capture_output=True, check=False, timeout=TIMEOUT_S)
        command = [str(spin.find("spin")), "-t", "-p", *(f"-D{each}" for each in instance.defines)]
        written = folder / f"{instance.model}.trail"
        if not written.exists():
            return f"{instance.name}: no error"
        told = subprocess.run(
            [*command, "-k", written.name, str(MODELS / instance.model)],
            cwd=folder, capture_output=True, text=True, check=False,
        ).stdout  # fmt: skip
    return "\n".join(line for line in told.splitlines() if "proc " in line)


def row(name: str, found: Found, verdict: str) -> str:
    return f"{name:<30} {found.states:>11,} {found.depth:>6} {found.seconds:>8.1f}  {verdict}"


def check_instance(instance: Instance) -> bool:
    """Print a line of the table; whether all checks hold."""
    try:
        found = search(instance)
    except SearchFailed as failed:
        print(f"{instance.name:<30} FAILED {failed}", flush=True)
        return False
    verdict = "holds" if found.violated is None else f"VIOLATED {found.violated}"
    print(row(instance.name, found, f"{verdict}; {instance.about}"), flush=True)
    return found.violated is None


def check_mutant(mutant: Mutant) -> bool:
    """Print a line of the table; whether the mutant was found as it has to be."""
    try:
        found = search(mutant)
        effect = search(mutant, effects=True) if mutant.effect else None
    except SearchFailed as failed:
        print(f"{mutant.name:<30} FAILED {failed}", flush=True)
        return False
    by = [f"found by {found.violated}" if found.violated else "NOT FOUND"]
    if effect is not None:
        by.append(f"effect: {effect.violated} ({effect.states:,} states)" if effect.violated else "NO EFFECT FOUND")
    print(row(mutant.name, found, "; ".join(by)), flush=True)
    return found.violated is not None and (effect is None or effect.violated is not None)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.model.check", description=__doc__)
    known = {each.name: each for each in (*INSTANCES, *MUTANTS)}
    parser.add_argument("names", nargs="*", metavar="NAME", help="instances and mutants: " + " ".join(known))
    parser.add_argument("--trail", action="store_true", help="print the steps to the first error of each")
    options = parser.parse_args(arguments)
    if unknown := [name for name in options.names if name not in known]:
        parser.error(f"unknown {', '.join(unknown)}")
    chosen = [known[name] for name in options.names] or list(known.values())
    if options.trail:
        for each in chosen:
            print(trail(each))
        return 0
    print(HEAD, flush=True)
    start = time.monotonic()
    good = [check_instance(each) if isinstance(each, Instance) else check_mutant(each) for each in chosen]
    print(f"{sum(good)} of {len(good)} as they have to be, {time.monotonic() - start:.0f} s")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
