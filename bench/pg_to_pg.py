"""PostgreSQL to PostgreSQL, one big table: the pipes, ours by the public command line, and SeaTunnel.

    python -m bench.pg_to_pg [--rows 3000000] [--pairs 7] [--peer] [--mode shadow,append] [--only ours,pipes,peer]

shadow: the target is new and gets its primary key; ours runs exactly-once. append: the target is keyed and holds rows
already; ours runs at-least-once and exactly-once.
Starting Spark is in our command and not in the others': "ours" is the receipt's `seconds.data`, from the first
unit to the last commit; "ours, whole command" is the clock round the process.
"""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path

from bench import ours, pairs, pg, pipes
from bench.peer import jobs
from bench.peer.engine import PeerEngine
from tests.servers.postgres import PostgresServer

PARTIES = ("pipes", "ours", "peer")
# How full the target of an append is, in parts of the source.
FILLED = 0.5
BARS = {
    "shadow": (
        ("issue 3, bar 4, new target", "ours", "pipes", 0.8),
        ("issue 5, bar 7, new target, exactly-once", "ours", "pipes", 0.75),
        ("issue 3, bar 4, SeaTunnel's best mode", "ours", "peer copy", 2.8),
        ("issue 3, bar 4, SeaTunnel's default", "ours", "peer upsert", 4.0),
    ),
    "append": (
        ("issue 3, bar 4, append", "ours at-least-once", "pipes", 0.75),
        ("issue 5, bar 7, append, exactly-once", "ours exactly-once", "pipes", 0.5),
    ),
}


class Bench:
    """The ways of one mode, on one server, with one source table."""

    def __init__(self, server: PostgresServer, rows: int, mode: str, place: Path) -> None:
        self.server = server
        self.rows = rows
        self.mode = mode
        self.place = place
        self.filled = int(rows * FILLED) if mode == "append" else 0
        self.whole: dict[str, list[float]] = {}

    def ready(self) -> None:
        """The target as the mode wants it: keyed, empty or half full; everything on disk."""
        pg.make_target(self.server, keyed=True)
        if self.filled:
            pg.fill_target(self.server, self.filled)
        pg.checkpoint(self.server)

    def done(self) -> None:
        pg.expect_copied(self.server, self.rows + self.filled)
        if not pg.has_primary_key(self.server):
            raise AssertionError("the target has no primary key")

    def pipes(self) -> float:
        self.ready()
        seconds = pipes.copy_by_pipes(self.server, self.rows)
        self.done()
        return seconds

    def peer(self, engine: PeerEngine, *, use_copy: bool) -> float:
        self.ready()
        result = engine.run(jobs.big_table(self.server, use_copy=use_copy))
        self.done()
        return result.seconds

    def ours(self, name: str, job: str) -> float:
        self.ready()
        if self.mode == "shadow":
            pg.drop_targets(self.server)  # the run creates the target itself
            pg.checkpoint(self.server)
        result = ours.run(job, self.place)
        self.done()
        self.whole.setdefault(f"{name}, whole command", []).append(result.wall_seconds)
        return result.data_seconds

    def our_ways(self) -> dict[str, pairs.Way]:
        if self.mode == "shadow":
            strict = 'guarantee = "exactly-once"'
            shadow = ours.table_job(self.server, env=strict)
            return {"ours": lambda: self.ours("ours", shadow)}
        at_least_once = ours.table_job(self.server, sink="enable_upsert = false")
        exactly_once = ours.table_job(self.server, sink="", env='guarantee = "exactly-once"')
        return {
            "ours at-least-once": lambda: self.ours("ours at-least-once", at_least_once),
            "ours exactly-once": lambda: self.ours("ours exactly-once", exactly_once),
        }

    def ways(self, parties: Sequence[str], engine: PeerEngine | None) -> dict[str, Callable[[], float]]:
        ways: dict[str, Callable[[], float]] = {}
        if "pipes" in parties:
            ways["pipes"] = self.pipes
        if "ours" in parties:
            ways |= self.our_ways()
        if engine is not None:
            ways["peer copy"] = lambda: self.peer(engine, use_copy=True)
            ways["peer upsert"] = lambda: self.peer(engine, use_copy=False)
        return ways


def judge(mode: str, seconds: pairs.Seconds) -> None:
    """The bars that this run can speak about."""
    for name, way, base, bar in BARS[mode]:
        if way in seconds and base in seconds:
            pairs.verdict_of_pairs(seconds, way, base, bar, name)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.pg_to_pg", description=__doc__)
    parser.add_argument("--rows", type=int, default=pg.ROWS)
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--mode", default=",".join(BARS), help="modes, divided by commas")
    parser.add_argument("--peer", action="store_true", help="measure SeaTunnel as well, with the new target")
    parser.add_argument("--only", default="", help="parties, divided by commas")
    wanted = parser.parse_args(arguments)
    parties = wanted.only.split(",") if wanted.only else ["pipes", "ours", *(["peer"] if wanted.peer else [])]
    modes = wanted.mode.split(",")
    for given, known in ((parties, PARTIES), (modes, tuple(BARS))):
        if unknown := set(given) - set(known):
            parser.error(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(known)}")
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(pg.server())
        place = stack.enter_context(ours.home())
        engine = stack.enter_context(PeerEngine()) if "peer" in parties else None
        pg.make_big_table(server, wanted.rows)
        for mode in modes:
            bench = Bench(server, wanted.rows, mode, place)
            theirs = engine if mode == "shadow" else None  # SeaTunnel's bars are about new targets
            seconds = pairs.interleave(bench.ways(parties, theirs), wanted.pairs)
            seconds |= bench.whole
            base = "pipes" if "pipes" in parties else next(iter(seconds))
            pairs.report(f"PostgreSQL to PostgreSQL, {mode}", seconds, base=base, rows=wanted.rows)
            judge(mode, seconds)


if __name__ == "__main__":
    main()
