"""Units as prepared transactions: seen with their checkpoint, taken back with their life, and never taken for done."""

from __future__ import annotations

import psycopg
import pytest

from seatunnel_py.api import CannotResumeError, FatalError, RetriableError, Visible
from seatunnel_py.api.process.resources import close_all
from tests.connectors.jdbc.conftest import PostgresPlace
from tests.connectors.jdbc.exactly_once import BEFORE, Target
from tests.servers.postgres import PostgresServer

pytestmark = pytest.mark.postgres


@pytest.fixture
def target(pg: PostgresPlace) -> Target:
    pg.db.execute("SET search_path = b; CREATE TABLE b.t (id bigint, s text); INSERT INTO b.t VALUES (0, 'before')")
    made = Target(pg.rows, lambda sql: pg.db.execute(sql.encode()), pg.sink(table="b.t"))
    made.plan(recipe="prepared")
    return made


def prepared(target: Target) -> int:
    return int(target.ask("SELECT count(*) FROM pg_prepared_xacts WHERE database = current_database()")[0][0])


def test_rows_are_seen_with_their_checkpoint_and_once(target: Target) -> None:
    assert target.setup.visible is Visible.COMMITTED
    pieces = [target.stage("u1", ("+I", 1, "a")), target.stage("u2", ("+I", 2, "b"))]
    assert (target.rows, prepared(target)) == ([BEFORE], 2)

    target.commit(1, *pieces)
    target.commit(1, *pieces)

    assert target.rows == [BEFORE, (1, "a"), (2, "b")]
    assert (prepared(target), target.pieces) == (0, 0)


def test_a_commit_that_was_cut_short_goes_on(target: Target) -> None:
    """A driver that dies between two of its transactions has committed one of them."""
    pieces = [target.stage("u1", ("+I", 1, "a")), target.stage("u2", ("+I", 2, "b"))]
    target.run(f"COMMIT PREPARED '{pieces[0].data['staged']}'")

    target.commit(1, *pieces)

    assert target.rows == [BEFORE, (1, "a"), (2, "b")]


def test_a_later_attempt_takes_the_older_ones_place(target: Target) -> None:
    target.stage("u1", ("+I", 1, "old"))

    again = target.stage("u1", ("+I", 2, "new"), attempt=1)
    assert prepared(target) == 1
    target.commit(1, again)

    assert target.rows == [BEFORE, (2, "new")]


def test_older_lives_are_rolled_back_and_nothing_else(target: Target) -> None:
    named = target.stage("u1", ("+I", 1, "named"))
    target.stage("u2", ("+I", 2, "orphan"))
    new = target.stage("u3", ("+I", 3, "new"), epoch=1)
    target.commit(1, named)
    assert prepared(target) == 2
    target.commit(2, new)

    assert target.rows == [BEFORE, (1, "named"), (3, "new")]
    assert prepared(target) == 0


def test_what_an_operator_rolled_back_is_lost_and_never_done(target: Target) -> None:
    """F30: not found is not committed."""
    piece = target.stage("u1", ("+I", 1, "a"))
    target.run(f"ROLLBACK PREPARED '{piece.data['staged']}'")

    with pytest.raises(FatalError, match="they are lost"):
        target.commit(1, piece)


def test_the_remedy_of_a_loss_names_the_transactions_that_still_stand(target: Target) -> None:
    """P4-F7: they hold the table's locks, and VACUUM back, until somebody ends them."""
    pieces = [target.stage(f"u{number}", ("+I", number, "a")) for number in range(8)]
    target.run(f"ROLLBACK PREPARED '{pieces[0].data['staged']}'")

    with pytest.raises(CannotResumeError) as lost:
        target.commit(1, *pieces)

    assert "7 prepared transactions of it still exist ('seatunnel:" in lost.value.remedy
    assert "--fresh rolls them back" in lost.value.remedy and "TRUNCATE TABLE" in lost.value.remedy
    target.sink.committer().abort([], target.context(1, final=True))


def test_what_is_given_up_is_rolled_back(target: Target) -> None:
    piece = target.stage("u1", ("+I", 1, "a"))

    target.sink.committer().abort([piece], target.context(1, final=True))

    assert (target.rows, prepared(target)) == ([BEFORE], 0)


@pytest.mark.parametrize("room", [0, 1])
def test_a_server_without_room_for_them_is_told_so(room: int) -> None:
    """F31: at the start where there is none at all; else by the unit that finds none, which may be tried again."""
    settings = {"max_prepared_transactions": str(room)}
    with PostgresServer.running(settings=settings) as server, psycopg.connect(server.dsn, autocommit=True) as db:
        db.execute("CREATE TABLE t (id bigint, s text); INSERT INTO t VALUES (0, 'before')")
        place = PostgresPlace(db, server.jdbc_url())
        target = Target(place.rows, lambda sql: db.execute(sql.encode()), place.sink(table="public.t"))
        if not room:
            with pytest.raises(FatalError, match="max_prepared_transactions is 0") as refused:
                target.plan(recipe="prepared")
            assert "exactly_once_recipe = staged" in refused.value.remedy
            return
        target.plan(recipe="prepared")
        first = target.stage("u1", ("+I", 1, "a"))
        with pytest.raises(RetriableError, match="maximum number of prepared transactions") as full:
            target.stage("u2", ("+I", 2, "b"))
        assert "raise max_prepared_transactions" in full.value.remedy
        target.commit(1, first)
        target.commit(2, target.stage("u2", ("+I", 2, "b"), attempt=1))
        assert target.rows == [BEFORE, (1, "a"), (2, "b")]
        close_all()


def test_rows_that_are_merged_by_key_cannot_be_prepared(target: Target) -> None:
    target.run("CREATE UNIQUE INDEX ON b.t (id)")

    with pytest.raises(FatalError, match="locked until its checkpoint"):
        target.plan(recipe="prepared", primary_keys=["id"])
