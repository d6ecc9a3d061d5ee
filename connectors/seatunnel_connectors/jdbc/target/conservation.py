"""Answers of a commit that finds other rows than were staged, or another table than the one that has its rows.

Rule. A commit compares before it writes the ledger: then everything that it has done is rolled back, and the same
commit may come again.
"""

from __future__ import annotations

from seatunnel_py.api import CannotResumeError, CommitLostError, FatalError, counted


def begin_anew(shown: str, empty: str, *, visible: bool) -> str:
    """The remedy of a run that cannot go on. ``empty`` is the statement that empties the target."""
    if not visible:
        return f"run the job again with --fresh: no row of this run is visible in {shown}"
    return (
        f"rows of this run are visible in {shown} and would come twice: delete them first ({empty}, where the table "
        "holds nothing else), then run the job again with --fresh"
    )


def lost_rows(shown: str, place: str, staged: int, found: int, remedy: str) -> CannotResumeError:
    """``place`` holds ``found`` rows, and units have staged another number there."""
    few = found < staged
    were = f"{found} of them were" if few else f"{found} rows were"
    why = "the others are lost" if few else "another session has added rows"
    return CommitLostError(
        f"LOST: table {shown}: {staged} rows were staged in {place}, and {were} found there at the commit: {why}. The "
        "commit was rolled back",
        remedy,
    )


def not_taken(shown: str, staged: int, taken: int) -> FatalError:
    """The staged rows are there, but the target has confirmed another number."""
    return FatalError(
        f"table {shown}: the target took {taken} of {staged} staged rows: a trigger or a rule of it leaves rows out. "
        "The commit was rolled back",
        "remove the trigger or the rule, and run the job again with --restore latest",
    )


def other_table(shown: str, remedy: str, *, there: bool, rebuilt: str = "") -> CannotResumeError:
    """Rows of this run went to a table that is gone; ``there``: another one has its name. ``rebuilt``: what else
    looks the same to the database."""
    anew = " and made anew" if there else ""
    other = f" (or {rebuilt}: the database does not tell)" if there and rebuilt else ""
    return CommitLostError(
        f"LOST: table {shown} was dropped{anew} during the run{other}: the rows that were written to it before are not "
        "there any more. The commit was rolled back",
        remedy,
    )


def renamed(shown: str, name: str) -> FatalError:
    """The table that has rows of this run has another name by now."""
    return FatalError(
        f"table {shown} was renamed during the run: its rows are in {name}. The commit was rolled back",
        f"give {name} the name {shown} back, and run the job again with --restore latest",
    )


def ledger_gone(table: str, shown: str) -> FatalError:
    """A table of the ledger was dropped, or the whole database is another one."""
    return FatalError(
        f"{table} is gone, which says what of this job is in {shown}",
        "give it back with its rows; or empty the target and begin anew with --fresh",
    )


def removed(what: dict[str, int]) -> list[str]:
    """One sentence about the leftovers that ``--fresh`` has deleted; none without any."""
    found = [counted(count, name) for name, count in what.items() if count]
    return [f"removed {', '.join(found)} of earlier runs"] if found else []


def still_visible(shown: str, rows: str, empty: str) -> str:
    """``rows``: their number, in words."""
    return (
        f"{rows} of earlier runs of this job are visible in {shown} and stay: if they must not be there twice, stop "
        f"this run, delete them ({empty}, where the table holds nothing else), and begin with --fresh again"
    )
