"""docs/crash-sweep.md: results of the sweep of seatunnel-py and of SeaTunnel, side by side."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence

from e2e.crash_sweep import report
from e2e.crash_sweep.peer_jobs import RECIPES
from e2e.crash_sweep.report import Damage, Outcome

OURS, PEER = "`make crash-sweep JOURNAL=ours.jsonl`", "`make crash-sweep PEER=1 OURS=ours.jsonl`"
HEAD = """# Crash sweep

Rows after processes were killed with `kill -9`: in seatunnel-py, and in SeaTunnel (Zeta 2.3.8). Every row
carries (source, split, number within it) and is searched for afterwards. Written on {day} by
{peer}, after {ours}.

seatunnel-py (`ours`) is killed at named failpoints (`SEATUNNEL_FAILPOINT`), several times in one job, and resumed by the
same command. SeaTunnel (`peer`) has no failpoints: its engine is killed when its log reports a barrier, a stored
checkpoint, a commit or the last commit, and at seeded random moments, and so is PostgreSQL. Its job is restored by its id,
up to four times. Missing rows of a job that still has not ended do not count as lost, because the job reports its failure.
Its source is always a table: with `parallelism = 2` its LocalFile source returned 14,400 rows of 9,600, without any kill.

"""
COLUMNS = "| who | sink | jobs | kills | rows lost | rows duplicated | leftovers | jobs that did not end |\n"


def text(ours: Sequence[Outcome], theirs: Sequence[Outcome]) -> str:
    """The whole page."""
    parts = [HEAD.format(day=datetime.datetime.now(datetime.UTC).date(), ours=OURS, peer=PEER), compared(ours, theirs)]
    if ours:
        parts += ["\n## Ours, recipe by recipe\n\n", _table(_by_recipe("ours", ours))]
        parts += ["\n## Ours, moment by moment\n\n| the driver was killed | kills | recipes |\n|---|--:|--:|\n"]
        parts += [f"| {name} | {kills} | {recipes} |\n" for name, kills, recipes in report.by_moment(ours)]
    parts += ["\n## SeaTunnel, job by job\n\n| job | what was found |\n|---|---|\n"]
    parts += [f"| {one.case} | {_found(one)} |\n" for one in sorted(theirs, key=lambda one: one.case)]
    return "".join(parts)


def compared(ours: Sequence[Outcome], theirs: Sequence[Outcome]) -> str:
    """A row for each sink of SeaTunnel, undisturbed and disturbed, and one for the same kind of sink here."""
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
