"""P4-F7: a job that begins anew removes what its earlier runs have left beside the target, and says which rows stay."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy

import pytest

from seatunnel_py.api import FatalError, JobMode
from seatunnel_py.api.process.resources import close_all
from tests.connectors.jdbc.conftest import PostgresPlace
from tests.connectors.jdbc.exactly_once import BEFORE, NUMBERS, Target, target

__all__ = ["target"]


def another(target: Target, job: str = "job", recipe: str = "staged", **more: object) -> Target:
    """A new lineage, of this job or another one, which has planned its sink and done nothing yet."""
    new = copy(target)
    new.lineage, new.job = f"lineage{next(NUMBERS)}", job
    new.plan(recipe=recipe, set_up=False, **more)
    return new


def begun_anew(target: Target, recipe: str = "staged", **more: object) -> list[str]:
    """What `run --fresh` does before it sets its sink up; the sentences, the same twice over but for what is gone."""
    new = another(target, recipe=recipe, **more)
    said = list(new.sink.committer().sweep(new.context(0)))
    again = list(new.sink.committer().sweep(new.context(0)))
    assert [one for one in again if "removed" in one] == []
    assert new.sink.committer().begin(new.context(0), fresh=True) is None
    assert list(new.sink.committer().sweep(new.context(0))) == [], "they are forgotten"
    new.sink.setup(new.setup)
    assert new.staging() == [name for name in new.staging() if str(new.setup.data["token"]) in name or "other" in name]
    return said


@pytest.mark.parametrize("committed", [False, True])
@pytest.mark.parametrize("mode", [JobMode.BATCH, JobMode.STREAMING], ids=["batch", "streaming"])
def test_staging_tables_of_earlier_runs_are_removed(target: Target, mode: JobMode, committed: bool) -> None:
    """P4-F7: they stayed for good, after a kill, a lost place and `--fresh`; also where no commit has been made."""
    target.plan(mode)
    named = target.stage("u1", ("+I", 1, "a"))
    if committed:
        target.commit(1, named)
    target.stage("u2", ("+I", 2, "b"))
    beside = len(target.staging())

    said = begun_anew(target, mode=mode)

    assert said[0] == f"removed {beside} staging table{'' if beside == 1 else 's'} of earlier runs"
    assert ("stay: if they must not be there twice" in "".join(said)) == (committed and mode is JobMode.STREAMING)
    assert target.rows == [BEFORE, (1, "a")] if committed and mode is JobMode.STREAMING else [BEFORE]


def test_a_writer_of_a_run_that_was_swept_is_refused(target: Target) -> None:
    target.plan()
    target.commit(1, target.stage("u1", ("+I", 1, "a")))
    target.sink.committer().recover(target.context(1))
    begun_anew(target)

    with pytest.raises(FatalError, match="fenced off|no such table|doesn't exist"):
        target.stage("u2", ("+I", 2, "late"))


@pytest.mark.parametrize("committed", [False, True])
def test_another_job_keeps_what_it_has(target: Target, committed: bool) -> None:
    """P4-F7: it may be at work: its rows are staged, and it commits them."""
    target.plan()
    target.stage("u1", ("+I", 1, "a"))
    other = another(target, job="other job")
    other.sink.setup(other.setup)
    piece = other.stage("u1", ("+I", 2, "other"))
    if committed:
        other.commit(1, piece)
        piece = other.stage("u2", ("+I", 3, "other"))
    new = another(target)
    assert list(new.sink.committer().sweep(new.context(0))) == ["removed 1 staging table of earlier runs"]
    new.sink.committer().begin(new.context(0), fresh=True)

    other.commit(2, piece)

    assert target.rows == [BEFORE, (2, "other"), *([(3, "other")] if committed else [])]


@pytest.mark.parametrize("committed", [False, True])
def test_rows_that_stay_visible_are_said_with_the_statement_that_deletes_them(target: Target, committed: bool) -> None:
    """P4-F7: 800 visible rows and 2,400 new ones were 3,200."""
    target.plan(recipe="direct")
    piece = target.stage("u1", ("+I", 1, "a"), ("+I", 2, "b"))
    if committed:
        target.commit(1, piece)
    target.sink.committer().recover(target.context(1))

    [said] = begun_anew(target, recipe="direct")

    assert "of earlier runs of this job are visible in" in said and " and stay" in said
    number, statement = ("2 rows ", "TRUNCATE TABLE") if "postgresql" in target.options["url"] else ("rows ", "")
    assert said.startswith(number) and statement in said


def test_rows_that_come_again_by_key_or_into_an_emptied_table_are_no_matter(target: Target) -> None:
    target.run("CREATE UNIQUE INDEX by_id ON " + ("b.t" if "postgresql" in target.options["url"] else "t") + " (id)")
    target.plan(recipe="direct", primary_keys=["id"])
    target.commit(1, target.stage("u1", ("+I", 1, "a")))
    assert begun_anew(target, recipe="direct", primary_keys=["id"]) == []

    target.plan(recipe="direct")
    target.lineage += "b"
    target.commit(1, target.stage("u1", ("+I", 7, "a")))
    assert begun_anew(target, recipe="direct", data_save_mode="DROP_DATA") == []


def test_a_job_that_ran_never_before_has_nothing_to_sweep(target: Target) -> None:
    target.plan(set_up=False)
    assert list(target.sink.committer().sweep(target.context(0))) == []


@pytest.fixture
def prepared(pg: PostgresPlace) -> Iterator[Target]:
    pg.db.execute("SET search_path = b; CREATE TABLE b.t (id bigint, s text); INSERT INTO b.t VALUES (0, 'before')")
    yield Target(pg.rows, lambda sql: pg.db.execute(sql.encode()), pg.sink(table="b.t"))
    close_all()


@pytest.mark.postgres
@pytest.mark.parametrize("committed", [False, True])
def test_prepared_transactions_of_earlier_runs_are_rolled_back(prepared: Target, committed: bool) -> None:
    """P4-F7: they held the table's locks, and VACUUM back, for good."""
    prepared.plan(recipe="prepared")
    first = prepared.stage("u1", ("+I", 1, "a"))
    if committed:
        prepared.commit(1, first)
        prepared.stage("u0", ("+I", 9, "z"))
    prepared.stage("u2", ("+I", 2, "b"))

    said = begun_anew(prepared, recipe="prepared")

    assert said[0] == "removed 2 prepared transactions of earlier runs"
    assert (len(said) == 2 and said[1].startswith("1 row of earlier runs")) == committed
    assert prepared.ask("SELECT count(*) FROM pg_prepared_xacts WHERE database = current_database()") == [(0,)]
    prepared.run("ALTER TABLE b.t ADD COLUMN more int")
    assert prepared.rows == ([BEFORE, (1, "a")] if committed else [BEFORE])
