"""Rows that arrive exactly once, by each recipe in each database: what is seen when, and what a crash leaves behind."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from random import Random
from types import SimpleNamespace

import pyarrow as pa
import pytest

from seatunnel_connectors.jdbc.mysql import target_dialect
from seatunnel_connectors.jdbc.statements import committer
from seatunnel_py.api import (
    Batch,
    FatalError,
    Guarantee,
    JobMode,
    Position,
    Reached,
    RetriableError,
    Visible,
)
from seatunnel_py.api.process.resources import close_all
from tests.connectors.jdbc.exactly_once import BEFORE, NUMBERS, SCHEMA, Target, maria_target, target

__all__ = ["target"]

# ---------------------------------------------------------------- staged


def test_rows_are_seen_with_their_checkpoint_and_once(target: Target) -> None:
    target.plan()
    assert target.capabilities.guarantee is Guarantee.TWO_PHASE_COMMIT
    assert target.setup.visible is Visible.COMMITTED
    first = [target.stage("u1", ("+I", 1, "a"), ("+I", 2, "b")), target.stage("u2", ("+I", 2, "b"))]
    assert target.rows == [BEFORE]

    target.commit(1, *first)
    target.commit(1, *first)
    assert target.rows == [BEFORE, (1, "a"), (2, "b"), (2, "b")]

    target.commit(2, target.stage("u3", ("+I", 3, "c")))
    assert target.rows == [BEFORE, (1, "a"), (2, "b"), (2, "b"), (3, "c")]
    assert (target.pieces, target.staged_rows()) == (0, 0), "what is committed is not kept twice"


def test_a_later_attempt_takes_the_place_of_an_older_one(target: Target) -> None:
    """Whatever it reads this time: nobody has seen the rows of the older one."""
    target.plan()
    target.stage("u1", ("+I", 1, "old"), ("+I", 2, "old"))

    again = target.stage("u1", ("+I", 3, "new"), attempt=1)
    target.commit(1, again)

    assert target.rows == [BEFORE, (3, "new")]
    assert target.staged_rows() == 0


def test_what_older_lives_have_staged_is_swept_and_nothing_else(target: Target) -> None:
    """A new life cuts its units otherwise; what a checkpoint names of the old one stays until it is committed."""
    target.plan()
    named = target.stage("u1", ("+I", 1, "named"))
    target.stage("u2", ("+I", 2, "orphan"))

    new = target.stage("u3", ("+I", 3, "new"), epoch=1)
    target.commit(1, named)
    assert target.staged_rows() == 2, "the first checkpoint knows nothing of the new life"
    target.commit(2, new)

    assert target.rows == [BEFORE, (1, "named"), (3, "new")]
    assert (target.pieces, target.staged_rows()) == (0, 0)


def test_the_last_commit_leaves_nothing_behind(target: Target) -> None:
    target.plan()
    target.stage("u1", ("+I", 1, "orphan"))

    target.commit(1, target.stage("u2", ("+I", 2, "b")), final=True)

    assert target.rows == [BEFORE, (2, "b")]
    assert target.staging() == []
    with pytest.raises(FatalError, match="fenced off|no such table|doesn't exist"):
        target.stage("u3", ("+I", 3, "late"))


def test_a_bounded_job_shows_nothing_before_its_end(target: Target) -> None:
    target.plan(JobMode.BATCH)
    assert target.setup.visible is Visible.FINAL
    target.commit(1, target.stage("u1", ("+I", 1, "a")))
    assert target.rows == [BEFORE]

    target.commit(2, target.stage("u2", ("+I", 2, "b")), final=True)

    assert target.rows == [BEFORE, (1, "a"), (2, "b")]


def test_what_is_given_up_is_dropped(target: Target) -> None:
    target.plan(JobMode.BATCH)
    piece = target.stage("u1", ("+I", 1, "a"))

    target.sink.committer().abort([piece], target.context(1, final=True))

    assert (target.rows, target.staging(), target.pieces) == ([BEFORE], [], 0)


def test_what_a_life_leaves_behind_does_not_take_along_what_others_have_staged(target: Target) -> None:
    """I14: a part of a job restarts between two checkpoints, and what was named by the first is not committed yet."""
    target.plan()
    named, left = target.stage("u1", ("+I", 1, "a")), target.stage("u2", ("+I", 2, "b"))

    target.sink.committer().abort([left], target.context(1, final=False))
    target.commit(1, named)

    assert target.rows == [BEFORE, (1, "a")]


def test_a_staged_unit_that_is_gone_is_lost_and_never_done(target: Target) -> None:
    target.plan()
    piece = target.stage("u1", ("+I", 1, "a"))
    target.run("DELETE FROM seatunnel_piece")

    with pytest.raises(FatalError, match="lost"):
        target.commit(1, piece)

    assert target.rows == [BEFORE]


@pytest.mark.parametrize("recipe", ["staged", "direct"])
def test_an_overtaken_driver_and_its_workers_are_refused(target: Target, recipe: str) -> None:
    target.plan(recipe=recipe)
    mine = target.stage("u1", ("+I", 1, "a"))
    writer = target.open("u2")
    assert target.sink.committer().recover(target.context(0, incarnation=2)) is None

    with pytest.raises(FatalError, match="fenced off|newer run"):
        target.commit(1, mine)
    data = pa.record_batch([[2], ["late"]], schema=SCHEMA.arrow())
    writer.write(Batch(SCHEMA.path, data))
    with pytest.raises(FatalError, match="fenced off"):
        writer.stage()

    target.commit(1, mine, incarnation=2)
    assert target.rows == [BEFORE, (1, "a")]


def test_the_record_that_late_attempts_must_find_goes_with_their_life(target: Target) -> None:
    """I33. Found by the soak: a stream kept one for each unit that had ever been tried again."""
    target.plan(recipe="direct")
    target.stage("u1", ("+I", 1, "a"))
    again = target.stage("u1", ("+I", 1, "a"), incarnation=2, attempt=1)
    target.commit(1, again, incarnation=2)

    late = target.open("u1", incarnation=2, attempt=0)
    assert late.reached is not None, "an attempt of the life that goes on finds it"
    late.abort()
    target.commit(2, target.stage("u2", ("+I", 2, "b"), incarnation=2), incarnation=2)
    assert target.pieces == 1

    target.commit(3, target.stage("u3", ("+I", 3, "c"), incarnation=3), incarnation=3)
    assert target.pieces == 0
    with pytest.raises(FatalError, match="fenced off"):
        target.stage("u1", ("+I", 1, "a"), incarnation=2, attempt=2)
    assert target.rows == [BEFORE, (1, "a"), (2, "b"), (3, "c")]


@pytest.mark.parametrize("table", ["seatunnel_ledger", "seatunnel_piece"])
def test_a_ledger_that_is_gone_is_named_with_the_ways_on(target: Target, table: str) -> None:
    target.plan()
    piece = target.stage("u1", ("+I", 1, "a"))
    target.run(f"DROP TABLE {table}")
    asked = [lambda: target.commit(1, piece)]
    if table == "seatunnel_ledger":
        asked.append(lambda: target.sink.committer().recover(target.context(0)))
    for ask in asked:
        with pytest.raises(FatalError, match=f"{table} is gone, which says what of this job is in ") as caught:
            ask()
        assert "give it back with its rows" in caught.value.remedy


def test_units_of_a_new_driver_make_themselves_known_at_once(target: Target) -> None:
    """I34. Found by the crash sweep: of two units that began together one was refused by the ledger's key, and its
    table failed."""
    target.plan(recipe="direct")
    for incarnation in range(2, 7):
        at_once = threading.Barrier(4)

        def begin(number: int, incarnation: int = incarnation, at_once: threading.Barrier = at_once) -> None:
            at_once.wait()
            target.open(f"u{number}", incarnation=incarnation, epoch=number % 2).abort()

        target.lineage = f"lineage{next(NUMBERS)}"
        with ThreadPoolExecutor(4) as units:
            list(units.map(begin, range(4)))
        fence = target.ask("SELECT incarnation, epoch FROM seatunnel_ledger")

        assert fence[-1:] == [(incarnation, 1)]
        target.run("DELETE FROM seatunnel_ledger")


def test_by_key_the_last_word_counts_across_units_and_within_one(target: Target) -> None:
    target.run("CREATE UNIQUE INDEX t_key ON t (id)")
    target.plan(primary_keys=["id"])
    first = target.stage("u1", ("+I", 1, "a"), ("+I", 2, "b"), ("+I", 1, "c"), ("+I", 3, "x"))
    second = target.stage("u2", ("-U", 2, "b"), ("+U", 2, "d"), ("-D", 3, "x"), ("-D", 0, "before"), ("+I", 0, "again"))

    target.commit(1, first, second)

    assert target.rows == [(0, "again"), (1, "c"), (2, "d")]


# ---------------------------------------------------------------- direct


def test_a_unit_that_is_there_says_where_it_ended(target: Target) -> None:
    target.plan(recipe="direct")
    first = target.stage("u1", ("+I", 1, "a"), ("+I", 2, "b"))
    assert target.rows == [BEFORE, (1, "a"), (2, "b")]
    assert target.sink.marks_units(target.setup.data)

    writer = target.open("u1", epoch=1)
    assert writer.reached == Reached(2, Position({"after": 2}))
    writer.abort()
    again = target.stage("u1", ("+I", 1, "a"), ("+I", 2, "b"), epoch=1)

    target.commit(1, again)
    assert (first.rows, again.rows, again.data["replayed"]) == (2, 2, True)
    assert target.rows == [BEFORE, (1, "a"), (2, "b")]


def test_by_key_a_unit_may_come_again_and_end_elsewhere(target: Target) -> None:
    """Behind a query nobody can cut it where it ended; an upsert need not mind."""
    target.run("CREATE UNIQUE INDEX t_key ON t (id)")
    target.plan(recipe="direct", primary_keys=["id"])
    target.stage("u1", ("+I", 1, "a"), ("+I", 2, "b"))

    longer = target.stage("u1", ("+I", 1, "a"), ("+I", 2, "b"), ("+I", 3, "c"), epoch=1)
    shorter = target.stage("u1", ("+I", 1, "a"), epoch=2)
    target.commit(1, shorter)

    assert (longer.rows, shorter.rows) == (3, 1)
    assert target.rows == [BEFORE, (1, "a"), (2, "b"), (3, "c")]


def test_records_of_units_are_kept_only_where_late_attempts_need_them(target: Target) -> None:
    target.plan(recipe="direct")
    target.commit(1, target.stage("u1", ("+I", 1, "a")), target.stage("u2", ("+I", 2, "b"), attempt=1))

    assert target.ask("SELECT data_id FROM seatunnel_piece WHERE data_id <> ''") == [("u2",)]
    assert target.stage("u2", ("+I", 2, "b")).data["replayed"], "the first attempt comes late"
    assert target.rows == [BEFORE, (1, "a"), (2, "b")]


# ---------------------------------------------------------------- lost memory


@pytest.mark.parametrize("recipe", ["staged", "direct"])
def test_a_target_remembers_the_lineage_of_a_job(target: Target, recipe: str) -> None:
    """A store that was lost begins the job under a new lineage: the target knows better, until people say so."""
    target.plan(recipe=recipe)
    target.commit(1, target.stage("u1", ("+I", 1, "a")))
    old, old_setup = target.lineage, target.setup
    assert target.sink.committer().begin(target.context(0), fresh=False) is None, "it is the same"

    target.plan(recipe=recipe)
    target.lineage = "another"
    assert target.sink.committer().begin(target.context(0), fresh=False) == old
    assert target.sink.committer().begin(target.context(0), fresh=True) is None
    assert target.sink.committer().begin(target.context(0), fresh=False) is None, "forgotten is forgotten"

    target.lineage, target.setup = old, old_setup
    with pytest.raises(FatalError, match="fenced off"):
        target.stage("u2", ("+I", 2, "of before"))


# ---------------------------------------------------------------- start effects


def test_statements_of_people_run_once(target: Target) -> None:
    """A driver that dies before it could say that they were done has them done again, by the same plan."""
    own = f"INSERT INTO {target.options['table']} VALUES (7, 'own')"
    target.plan(data_save_mode="CUSTOM_PROCESSING", custom_sql=own)

    target.sink.setup(target.setup)
    target.commit(1, target.stage("u1", ("+I", 1, "a")))
    target.sink.setup(target.setup)

    assert target.rows == [BEFORE, (1, "a"), (7, "own")]
    target.commit(2, final=True)
    assert target.pieces == 0


def test_a_mariadb_driver_that_stands_still_in_its_commit_is_given_up(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It holds the ledger's row (I34, F8): the server ends its session, and what it had begun is as if it never was.
    PostgreSQL's is tried beside its common commits (test_postgres_together)."""
    target = maria_target(request)
    target.plan()
    piece = target.stage("a", ("+I", 1, "x"))
    target.commit(0)
    going_on, still = threading.Event(), threading.Event()

    def hit() -> None:
        still.set()
        assert going_on.wait(60)

    monkeypatch.setattr(target_dialect, "STILL_SECONDS", 1)
    monkeypatch.setattr(committer.failpoints, "STATEMENTS_INSIDE", SimpleNamespace(hit=hit))
    with ThreadPoolExecutor(1) as thread:
        older = thread.submit(target.commit, 1, piece)
        assert still.wait(60)

        assert target.sink.committer().recover(target.context(0, incarnation=2)) == 0
        going_on.set()
        with pytest.raises(RetriableError):
            older.result(60)

    assert target.rows == [BEFORE]
    target.commit(1, piece, incarnation=2)
    close_all()
    assert target.rows == [BEFORE, (1, "x")]


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("inserts_first", [False, True])
def test_the_last_row_of_a_key_wins_wherever_the_server_puts_it(target: Target, seed: int, inserts_first: bool) -> None:
    """PostgreSQL puts a row of a unit into a page of before if it fits there: rows are small and large. The sweep of
    followed tables has found a delete that was followed by the insert before it."""
    target.run("DELETE FROM t")
    target.run("CREATE UNIQUE INDEX one ON t (id)")
    target.plan(primary_keys=["id"])
    random, there = Random(seed), dict[int, str]()
    longest = 1_900 if "postgresql" in target.options["url"] else 100
    history = []
    for number in range(4_000):
        key, value = random.randrange(60), random.randbytes(random.choice((1, 20, longest // 2))).hex()
        if inserts_first and number < 60:
            key, value = number, "first"
        deletes = key in there and random.random() < 0.5
        history.append(("-D", key, there.pop(key)) if deletes else ("+U" if key in there else "+I", key, value))
        if not deletes:
            there[key] = value

    target.commit(1, target.stage("u@", *history))

    assert target.rows == sorted(there.items())
