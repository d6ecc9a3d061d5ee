"""A table of MariaDB that is filled beside its place: what is seen when, what a crash leaves, what keeps it from it."""

from __future__ import annotations

import itertools
import threading
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from seatunnel_py.api import (
    Batch,
    CommitContext,
    FatalError,
    Piece,
    Position,
    PrimaryKey,
    Reached,
    RetriableError,
    Setup,
    Sink,
    TablePath,
    TableSchema,
    Visible,
    WriteContext,
    Writer,
    schema_from_arrow,
)
from tests.connectors.jdbc.conftest import MariadbPlace
from tests.connectors.jdbc.copying import copy_table, make_sink, make_source, same_rows

pytestmark = pytest.mark.mariadb

ARROW = pa.schema([pa.field("id", pa.int64(), nullable=False), ("s", pa.string())])
SCHEMA = replace(schema_from_arrow(TablePath("a", "", "up"), ARROW), primary_key=PrimaryKey(("id",), "", True))
THERE = (
    "CREATE TABLE b.t (id bigint PRIMARY KEY, s varchar(50) DEFAULT 'none', KEY by_s (s)) ENGINE=InnoDB "
    "COMMENT='what people read'",
    "INSERT INTO b.t VALUES (0, 'before')",
)
BEFORE, NEW = [(0, "before")], [(1, "a"), (2, "b"), (3, "c")]
_numbers = itertools.count(1)


class Run:
    """A run into `b.t` by the recipe shadow, from its set-up on."""

    def __init__(
        self, maria: MariadbPlace, *, recipe: str = "shadow", schema: TableSchema = SCHEMA, **options: Any
    ) -> None:
        self.maria = maria
        given = {"data_save_mode": "DROP_DATA", "is_exactly_once": True, "exactly_once_recipe": recipe, **options}
        self.schema = schema
        self.sink: Sink
        self.sink, _ = make_sink(maria.sink(table="t", **given), schema)
        self.setup: Setup = self.sink.plan_setup()
        self.sink.setup(self.setup)
        self.lineage = f"lineage{next(_numbers)}"

    def open(self, data_id: str, **who: Any) -> Writer:
        return self.sink.open(
            WriteContext("job", self.lineage, "sink", data_id, setup=self.setup.data, vertex="v", **who)
        )

    def stage(self, data_id: str, *rows: tuple[int, str], **who: Any) -> Piece:
        writer = self.open(data_id, **who)
        writer.write(self.batch(*rows))
        writer.ends_at(Reached(len(rows), Position({"after": rows[-1][0]})))
        return writer.stage()

    def batch(self, *rows: tuple[int, str]) -> Batch:
        return Batch(self.schema.path, pa.record_batch([list(part) for part in zip(*rows, strict=True)], schema=ARROW))

    def pieces(self) -> list[Piece]:
        return [self.stage("u1", *NEW[:2]), self.stage("u2", *NEW[2:])]

    def commit(self, checkpoint: int, *pieces: Piece, final: bool = True, incarnation: int = 1) -> None:
        self.sink.committer().commit(pieces, self.context(checkpoint, final=final, incarnation=incarnation))

    def context(self, checkpoint: int = 0, **more: Any) -> CommitContext:
        return CommitContext("job", self.lineage, "sink", checkpoint, setup=self.setup.data, **more)

    def recover(self, incarnation: int) -> int | None:
        return self.sink.committer().recover(self.context(incarnation=incarnation))

    @property
    def shadow(self) -> str:
        return str(self.setup.data["staging"])


def rows(maria: MariadbPlace) -> list[tuple[Any, ...]]:
    return maria.rows("SELECT id, s FROM b.t ORDER BY id")


def tables(maria: MariadbPlace) -> dict[str, str]:
    return dict(maria.rows("SELECT table_name, table_comment FROM information_schema.tables WHERE table_schema = 'b'"))


def clean(maria: MariadbPlace, comment: str = "what people read") -> None:
    """What is left of a run: its target, with the comment that people gave it, and books without pieces."""
    assert tables(maria) == {"t": comment, "seatunnel_ledger": "", "seatunnel_piece": ""}
    assert maria.rows("SELECT count(*) FROM b.seatunnel_piece") == [(0,)]


# ---------------------------------------------------------------- what is seen, and what remains


def test_the_old_content_is_seen_until_the_last_commit(maria: MariadbPlace) -> None:
    maria.run(*THERE)
    run = Run(maria)
    assert run.setup.visible is Visible.FINAL and rows(maria) == BEFORE

    run.commit(1, run.stage("u1", *NEW[:2]), final=False)
    assert rows(maria) == BEFORE
    run.commit(2, run.stage("u2", *NEW[2:]))

    assert rows(maria) == NEW
    clean(maria)
    assert maria.rows("SELECT last_checkpoint, finished FROM b.seatunnel_ledger") == [(2, 1)]


def test_an_emptied_table_keeps_its_structure(maria: MariadbPlace) -> None:
    """Keys, defaults, comments, and who may do what with it."""
    maria.run(*THERE, "CREATE VIEW b.seen AS SELECT s FROM b.t", "DROP USER IF EXISTS reader", "CREATE USER reader")
    maria.run("GRANT SELECT ON b.t TO reader")
    before = maria.rows("SHOW CREATE TABLE b.t")

    run = Run(maria)
    run.commit(1, *run.pieces())

    assert maria.rows("SHOW CREATE TABLE b.t") == before
    assert maria.rows("SELECT s FROM b.seen ORDER BY s") == [("a",), ("b",), ("c",)]
    assert "`b`.`t`" in str(maria.rows("SHOW GRANTS FOR reader"))


def test_readers_never_see_a_moment_without_the_table(maria: MariadbPlace) -> None:
    """Nor a part of the new one: one that looks all the time sees the old rows, then the new ones."""
    import pymysql

    maria.run(*THERE)
    run = Run(maria)
    pieces, seen, looks, over = run.pieces(), [], threading.Event(), threading.Event()

    def read() -> None:
        with (
            pymysql.connect(host="127.0.0.1", port=maria.port, user="root", autocommit=True) as db,
            db.cursor() as cursor,
        ):
            last = False
            while not last:  # once more after the commit is over, however long this thread had to wait
                last = over.is_set()
                cursor.execute("SELECT id, s FROM b.t ORDER BY id")
                seen.append(list(cursor.fetchall()))
                looks.set()

    reader = threading.Thread(target=read)
    reader.start()
    try:
        assert looks.wait(30), "the reader has not looked"
        run.commit(1, *pieces)
    finally:
        over.set()
        reader.join()

    changes = [look for before, look in zip([None, *seen], seen, strict=False) if look != before]
    assert changes == [BEFORE, NEW]


@pytest.mark.parametrize("there", [False, True])
def test_a_table_that_the_run_makes(maria: MariadbPlace, there: bool) -> None:
    """Its key is in place, its comment is the upstream's, and the old one is gone."""
    maria.run(*(THERE if there else ()))
    schema = replace(SCHEMA, comment="it's from \\ upstream")
    run = Run(maria, schema=schema, schema_save_mode="RECREATE_SCHEMA")
    assert ("t" in tables(maria)) is there

    run.commit(1, *run.pieces())

    assert rows(maria) == NEW
    clean(maria, "it's from \\ upstream")
    assert [row[4] for row in maria.rows("SHOW KEYS FROM b.t")] == ["id"]


def test_a_large_table_is_copied_so_by_itself(maria: MariadbPlace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seatunnel_connectors.jdbc.target.load_decision.ROWS_PER_UNIT", 1000)
    maria.run(
        "CREATE TABLE a.t (id int PRIMARY KEY, s varchar(50))",
        "INSERT INTO a.t SELECT seq, concat('row ', seq) FROM seq_1_to_9000", "ANALYZE TABLE a.t", *THERE,
    )  # fmt: skip
    source = make_source(maria.source(table_path="a.t", **{"split.size": 2000}))
    [table] = source.tables()
    sink, capabilities = make_sink(
        maria.sink(table="t", is_exactly_once=True, data_save_mode="DROP_DATA"), table.schema
    )

    copied = copy_table(source, table, sink)

    assert copied.how == "shadow" and len(copied.splits) >= 4
    assert "by one renaming" in capabilities.why
    same_rows(maria.rows("SELECT id, s FROM a.t"), rows(maria))
    clean(maria)


# ---------------------------------------------------------------- attempts


def test_a_unit_that_is_there_says_where_it_ended(maria: MariadbPlace) -> None:
    """So that nothing is repeated after a restart."""
    maria.run(*THERE)
    run = Run(maria)
    assert run.sink.marks_units(run.setup.data)
    run.stage("u1", *NEW[:2])

    writer = run.open("u1", epoch=1)
    assert writer.reached == Reached(2, Position({"after": 2}))
    writer.abort()
    again = run.stage("u1", *NEW[:2], epoch=1)
    run.commit(1, again, run.stage("u2", *NEW[2:], epoch=1))

    assert again.data["replayed"] and rows(maria) == NEW


def test_of_two_attempts_at_once_one_counts(maria: MariadbPlace) -> None:
    """The slower one meets keys that the other has written, and is told to look again."""
    maria.run(*THERE)
    run = Run(maria, enable_upsert=False)
    slower = run.open("u1")
    piece = run.stage("u1", *NEW, attempt=1)

    with pytest.raises(RetriableError, match="another attempt at unit u1 was faster"):
        slower.write(run.batch(*NEW))
    slower.abort()
    run.commit(1, piece)

    assert rows(maria) == NEW


def test_a_stale_attempt_and_its_driver_are_fenced_off(maria: MariadbPlace) -> None:
    maria.run(*THERE)
    run = Run(maria)
    piece, late = run.stage("u1", *NEW), run.open("u2")
    late.write(run.batch((4, "late")))
    run.recover(incarnation=2)

    with pytest.raises(FatalError, match="fenced off"):
        late.stage()
    with pytest.raises(FatalError, match="fenced off"):
        run.commit(1, piece)
    assert rows(maria) == BEFORE
    run.sink.committer().abort([piece], run.context(1, final=True))
    run.commit(1, piece, incarnation=2)

    assert rows(maria) == NEW, "an older driver that gives up drops nothing of the newer one's"
    with pytest.raises(FatalError, match="doesn't exist"):
        run.stage("u3", (5, "later"))
    clean(maria)


# ---------------------------------------------------------------- never taken for granted


@pytest.mark.parametrize("gone", ["DROP TABLE b.`{shadow}`", "DELETE FROM b.seatunnel_piece"])
def test_what_is_gone_is_lost_and_never_done(maria: MariadbPlace, gone: str) -> None:
    """I31."""
    maria.run(*THERE)
    run = Run(maria)
    pieces = run.pieces()
    maria.run(gone.format(shadow=run.shadow))

    with pytest.raises(FatalError, match="lost"):
        run.commit(1, *pieces)

    assert rows(maria) == BEFORE
    assert maria.rows("SELECT count(*) FROM b.seatunnel_ledger WHERE finished = 1") == [(0,)]


def test_rows_that_no_checkpoint_names_do_not_pass(maria: MariadbPlace) -> None:
    maria.run(*THERE)
    run = Run(maria)
    named, _ = run.pieces()

    with pytest.raises(FatalError, match=r"units that no checkpoint names \(u2\)"):
        run.commit(1, named)

    assert rows(maria) == BEFORE


def test_who_has_made_the_table_in_the_meantime_keeps_it(maria: MariadbPlace) -> None:
    """The rows are added to it, once."""
    run = Run(maria)
    pieces = run.pieces()
    maria.run(*THERE)

    run.commit(1, *pieces)
    run.commit(1, *pieces)

    assert rows(maria) == BEFORE + NEW
    clean(maria)


@pytest.mark.parametrize(
    ("ties", "words"),
    [
        ("CREATE TABLE b.child (t bigint, FOREIGN KEY (t) REFERENCES b.t (id))", "the foreign key of b.child"),
        ("CREATE TABLE a.child (t bigint, FOREIGN KEY (t) REFERENCES b.t (id))", "the foreign key of a.child"),
        ("CREATE TRIGGER b.watch BEFORE DELETE ON b.t FOR EACH ROW SET @x = 1", "its trigger watch"),
        ("ALTER TABLE b.t ADD p bigint, ADD FOREIGN KEY (p) REFERENCES b.t (id)", "its foreign key t_ibfk_1"),
        ("ALTER TABLE b.t ADD SYSTEM VERSIONING", "that it is a system versioned table"),
    ],
)
def test_what_another_table_in_its_place_would_lose(maria: MariadbPlace, ties: str, words: str) -> None:
    """Then it is emptied as it is; who asks for the recipe is told, and so is who ties something to it too late."""
    maria.run(*THERE)
    run = Run(maria)
    pieces = run.pieces()
    maria.run(ties)

    with pytest.raises(FatalError, match=f"since the job was planned.*{words}"):
        run.commit(1, *pieces)
    with pytest.raises(FatalError, match=f"exactly_once_recipe = shadow, but .*{words}"):
        Run(maria)
    large = replace(SCHEMA, options={"estimated_rows": "600000"})
    sink, _ = make_sink(maria.sink(table="t", data_save_mode="DROP_DATA", is_exactly_once=True), large)

    assert sink.plan_setup().data["how"] == "staged"
    assert rows(maria) == BEFORE


def test_a_target_that_has_become_one_without_transactions_is_refused(maria: MariadbPlace) -> None:
    """By the commit of whoever planned before that, and by the next plan, whatever the recipe."""
    maria.run(*THERE)
    run = Run(maria)
    pieces = run.pieces()
    maria.run("ALTER TABLE b.t ENGINE=Aria")

    with pytest.raises(FatalError, match="since the job was planned.*that its engine is Aria"):
        run.commit(1, *pieces)
    with pytest.raises(FatalError, match="is of the engine Aria, which cannot take a transaction back"):
        Run(maria)
    assert rows(maria) == BEFORE


@pytest.mark.parametrize("change", ["ADD more int", "MODIFY s varchar(60)", "DROP KEY by_s", "ADD UNIQUE KEY one (s)"])
def test_what_people_change_meanwhile_is_not_taken_back(maria: MariadbPlace, change: str) -> None:
    """The new table was made before that; nobody should find out by a column that has gone."""
    maria.run(*THERE)
    run = Run(maria)
    pieces = run.pieces()
    maria.run(f"ALTER TABLE b.t {change}")

    with pytest.raises(FatalError, match="would lose: the change of its columns or indexes"):
        run.commit(1, *pieces)

    assert rows(maria) == BEFORE


def test_triggers_that_may_be_hidden_count_as_there(maria: MariadbPlace) -> None:
    """MySQL shows them only to who has the right to make them, and they would go with the old table."""
    maria.run(*THERE, "DROP USER IF EXISTS `a@b`", "CREATE USER `a@b`", "GRANT ALL ON `b`.* TO `a@b`")
    maria.run("REVOKE TRIGGER ON `b`.* FROM `a@b`")

    with pytest.raises(FatalError, match="would lose triggers, which this user may not see"):
        Run(maria, user="a@b")
    maria.run("GRANT TRIGGER ON `b`.`t` TO `a@b`")
    run = Run(maria, user="a@b")
    run.commit(1, *run.pieces())

    assert rows(maria) == NEW


def test_a_hidden_table_that_refers_to_it_keeps_the_old_one(maria: MariadbPlace) -> None:
    """The rows have arrived by then; what is left to do is said."""
    maria.run(*THERE, "CREATE TABLE a.child (t bigint, FOREIGN KEY (t) REFERENCES b.t (id))")
    maria.run("DROP USER IF EXISTS loader", "CREATE USER loader", "GRANT ALL ON `b`.* TO loader")
    run = Run(maria, user="loader")
    pieces = run.pieces()

    with pytest.raises(FatalError, match="has arrived, but .* cannot be dropped"):
        run.commit(1, *pieces)
    assert rows(maria) == NEW
    maria.run("DROP TABLE a.child")
    run.commit(1, *pieces)

    clean(maria)


def test_rights_that_the_end_needs_are_asked_for_at_the_beginning(maria: MariadbPlace) -> None:
    """Nobody should load for hours and then learn it."""
    maria.run("DROP USER IF EXISTS loader", "CREATE USER loader", "GRANT SELECT, INSERT, CREATE, DROP ON b.* TO loader")

    with pytest.raises(FatalError, match="ALTER command denied"):
        Run(maria, user="loader")


# ---------------------------------------------------------------- what is left behind


def test_a_run_that_is_given_up_leaves_nothing(maria: MariadbPlace) -> None:
    maria.run(*THERE)
    run = Run(maria)

    run.sink.committer().abort(run.pieces(), run.context(1, final=True))

    assert rows(maria) == BEFORE
    clean(maria)
