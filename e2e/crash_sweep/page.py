"""docs/crash-sweep.md: what our sweep and the peer's have come to, side by side."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence

from e2e.crash_sweep import report
from e2e.crash_sweep.peer_jobs import RECIPES
from e2e.crash_sweep.report import Damage, Outcome

OURS, PEER = "`make crash-sweep JOURNAL=ours.jsonl`", "`make crash-sweep PEER=1 OURS=ours.jsonl`"
HEAD = """# Crash sweep

What happens to rows when processes are killed with `kill -9`: here, and on the peer (SeaTunnel Zeta 2.3.8). Every row
carries (source, split, number within it) and is looked for afterwards. Written on {day} by
{peer}, after {ours}.

Ours are killed at named moments (`SEATUNNEL_FAILPOINT`), several times in one job, and go on by the same command. The
peer has no such points: its engine is killed when its log says that it sends a barrier, has stored a checkpoint, begins
a commit or its last one, and at seeded random moments; PostgreSQL under it too. Its job is restored by its id, up to
four times. What a job lacks that has not ended in spite of that is not counted as lost: it says that it has failed. Its
source is a table in all its jobs: with `parallelism = 2` its LocalFile source returned 14,400 rows of
9,600, without any kill.

"""
COLUMNS = "| who | sink | jobs | kills | rows lost | rows duplicated | things left behind | jobs that did not end |\n"


def text(ours: Sequence[Outcome], theirs: Sequence[Outcome]) -> str:
    """The whole page."""
    parts = [HEAD.format(day=datetime.datetime.now(datetime.UTC).date(), ours=OURS, peer=PEER), compared(ours, theirs)]
    if ours:
        parts += ["\n## Ours, recipe by recipe\n\n", _table(_by_recipe("ours", ours))]
        parts += ["\n## Ours, moment by moment\n\n| the driver was killed | kills | recipes |\n|---|--:|--:|\n"]
        parts += [f"| {name} | {kills} | {recipes} |\n" for name, kills, recipes in report.by_moment(ours)]
    parts += ["\n## The peer, job by job\n\n| job | what was found |\n|---|---|\n"]
    parts += [f"| {one.case} | {_found(one)} |\n" for one in sorted(theirs, key=lambda one: one.case)]
    return "".join(parts)


def compared(ours: Sequence[Outcome], theirs: Sequence[Outcome]) -> str:
    """A row for each sink of the peer, undisturbed and disturbed, and one for ours of the same kind."""
    rows = []
    for recipe in RECIPES:
        of_it = [one for one in theirs if one.recipe == recipe.name]
        calm = [one for one in of_it if one.case.endswith("undisturbed")]
        rows.append(_row("peer", f"{recipe.name}, undisturbed", Damage.of(calm)))
        rows.append(_row("peer", recipe.name, Damage.of([one for one in of_it if one not in calm])))
        same = [one for one in ours if one.recipe in recipe.ours]
        rows += [_row("ours", ", ".join(recipe.ours), Damage.of(same))] if same else []
    return _table(rows)


def _by_recipe(who: str, outcomes: Sequence[Outcome]) -> Iterator[str]:
    for name in dict.fromkeys(one.recipe for one in outcomes):
        yield _row(who, name, Damage.of([one for one in outcomes if one.recipe == name]))


def _table(rows: Iterator[str] | Sequence[str]) -> str:
    return COLUMNS + "|---|---|--:|--:|--:|--:|--:|--:|\n" + "".join(rows)


def _row(who: str, what: str, damage: Damage) -> str:
    figures = (damage.jobs, damage.kills, damage.lost, damage.duplicated, damage.left_behind, damage.not_ended)
    return f"| {who} | {what} | {' | '.join(map(str, figures))} |\n"


def _found(outcome: Outcome) -> str:
    """In one cell."""
    said = "; ".join(" ".join(one.split())[:160] for one in outcome.violations) or "exact"
    return said.replace("|", "/") + (
        "" if outcome.killed or outcome.case.endswith("undisturbed") else " (nothing was killed)"
    )
