"""The PostgreSQL sink by itself: kinds of rows, keys, second attempts, fences, values that do not fit."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seatunnel_py.api import (
    Batch,
    CommitContext,
    FatalError,
    Guarantee,
    JobMode,
    Position,
    PrimaryKey,
    RetriableError,
    Sink,
    StepContext,
    TablePath,
    TableSchema,
    WriteContext,
    schema_from_arrow,
)
from tests.connectors.jdbc.conftest import PostgresPlace
from tests.connectors.jdbc.copying import copy_tables, make_sink, make_source

pytestmark = pytest.mark.postgres

SCHEMA = schema_from_arrow(
    TablePath("db", "up", "t"), pa.schema([pa.field("id", pa.int64(), nullable=False), ("s", pa.string())])
)
Rows = list[tuple[str, int, str | None]]


def batch(rows: Rows, *, after: int | None = None) -> Batch:
    kinds = pa.array([("+I", "-U", "+U", "-D").index(kind) for kind, _, _ in rows], pa.uint8())
    data = pa.record_batch([[row[1] for row in rows], [row[2] for row in rows]], schema=SCHEMA.arrow())
    end = None if after is None else Position({"after": after})
    return Batch(SCHEMA.path, data, end=end, kinds=kinds)


def inserts(*ids: int) -> Rows:
    return [("+I", number, f"row {number}") for number in ids]


class Target:
    """A sink that was set up, and the context of its writers."""

    def __init__(self, pg: PostgresPlace, **options: Any) -> None:
        self.pg = pg
        self.sink: Sink = make_sink(pg.sink(**{"table": "b.t", "primary_keys": ["id"], **options}), SCHEMA)[0]
        self.setup = self.sink.plan_setup()
        self.sink.setup(self.setup)

    def open(self, data_id: str = "u@", **context: Any) -> Any:
        return self.sink.open(WriteContext("job", "lin", "sink", data_id, setup=self.setup.data, **context))

    def write(self, *batches: Batch, data_id: str = "u@", **context: Any) -> Any:
        writer = self.open(data_id, **context)
        for one in batches:
            writer.write(one)
        return writer.stage()

    def context(self, checkpoint: int = 1, **more: Any) -> CommitContext:
        return CommitContext("job", "lin", "sink", checkpoint, setup=self.setup.data, **more)

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        return self.pg.rows("SELECT id, s FROM b.t ORDER BY id")


# ---------------------------------------------------------------- kinds and keys


def test_updates_and_deletes_by_key(pg: PostgresPlace) -> None:
    target = Target(pg)

    piece = target.write(
        batch([("+I", 1, "a"), ("+I", 2, "b"), ("-U", 1, "a"), ("+U", 1, "c"), ("-D", 2, "b"), ("+I", 3, "d")])
    )
    target.write(batch([("-D", 3, "x"), ("+I", 3, "e"), ("+U", 4, "new")]), data_id="2")

    assert (piece.rows, piece.merged) == (6, 3)
    assert target.rows == [(1, "c"), (3, "e"), (4, "new")]


def test_the_last_row_of_a_key_wins_within_a_unit(pg: PostgresPlace) -> None:
    target = Target(pg)
    target.write(batch([("+I", 1, "old")]), data_id="1")

    piece = target.write(batch([("+I", 1, "a"), ("+I", 2, "b"), ("+I", 1, "c"), ("+I", 2, None)]), data_id="2")

    assert (piece.rows, piece.merged) == (4, 2)
    assert target.rows == [(1, "c"), (2, None)]


def test_each_change_fires_the_triggers_of_its_row_once(pg: PostgresPlace) -> None:
    """An update whose row is missing inserts it; the others are not written a second time for that."""
    target = Target(pg)
    target.write(batch(inserts(1, 2, 3)), data_id="1")
    pg.db.execute("CREATE TABLE b.fired (what text, id bigint)")
    pg.db.execute(
        "CREATE FUNCTION b.fire() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN "
        "INSERT INTO b.fired VALUES (TG_OP, coalesce(NEW.id, OLD.id)); RETURN NULL; END$$"
    )
    pg.db.execute("CREATE TRIGGER fires AFTER INSERT OR UPDATE OR DELETE ON b.t FOR EACH ROW EXECUTE FUNCTION b.fire()")

    target.write(batch([("+U", 1, "a"), ("+U", 2, "b"), ("+U", 4, "c"), ("-D", 3, None), ("-D", 9, None)]), data_id="2")

    assert target.rows == [(1, "a"), (2, "b"), (4, "c")]
    assert sorted(pg.rows("SELECT what, id FROM b.fired")) == [
        ("DELETE", 3), ("INSERT", 4), ("UPDATE", 1), ("UPDATE", 2)
    ]  # fmt: skip


def test_without_upsert_inserts_and_updates_stay_what_they_are(pg: PostgresPlace) -> None:
    target = Target(pg, enable_upsert=False)
    target.write(batch(inserts(1, 2)), data_id="1")

    target.write(
        batch([("+U", 1, "changed"), ("+U", 9, "nobody"), ("+I", 3, "x"), ("+U", 3, "y"), ("-D", 2, None)]), data_id="2"
    )

    assert target.rows == [(1, "changed"), (3, "y")]
    with pytest.raises(FatalError, match=r"Key \(id\)=\(1\) already exists"):
        target.write(batch(inserts(1)), data_id="3")


def test_changes_find_their_rows_in_a_table_made_without_an_index(pg: PostgresPlace) -> None:
    """create_index = false with enable_upsert = false: primary_keys says by what, and was forgotten."""
    target = Target(pg, enable_upsert=False, create_index=False)
    target.write(batch([*inserts(1, 2), ("-U", 1, "x"), ("+U", 1, "changed"), ("-D", 2, None)]), data_id="1")

    assert target.rows == [(1, "changed")]


def test_without_a_key_changes_are_refused_and_inserts_added(pg: PostgresPlace) -> None:
    target = Target(pg, primary_keys=[])
    target.write(batch(inserts(1, 1)))

    with pytest.raises(FatalError, match="need a key"):
        target.write(batch([("-D", 1, None)]), data_id="2")

    assert [row[0] for row in target.rows] == [1, 1]


def test_deletes_and_updates_of_a_composite_key_cast_from_text(pg: PostgresPlace) -> None:
    """inet goes through text; the key is found by it all the same."""
    pg.db.execute("CREATE TABLE b.t (id bigint, s inet, v int DEFAULT 5, PRIMARY KEY (s, id))")
    target = Target(pg, primary_keys=["id", "s"])

    target.write(batch([("+I", 1, "10.0.0.1"), ("+I", 1, "10.0.0.2"), ("+I", 1, "10.0.0.1")]))
    target.write(batch([("-D", 1, "10.0.0.2")]), data_id="2")

    assert pg.rows("SELECT id, s::text, v FROM b.t") == [(1, "10.0.0.1/32", 5)]


def test_several_blocks_in_one_unit(pg: PostgresPlace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seatunnel_connectors.jdbc.postgres.write.copy_loader.BLOCK_BYTES", 100)
    target = Target(pg)
    target.write(batch(inserts(5)), data_id="1")

    piece = target.write(*(batch(inserts(*range(at, at + 10))) for at in range(0, 100, 10)), data_id="2")

    assert piece.rows == 100 and len(target.rows) == 100


@pytest.mark.parametrize("recipe", ["direct", "staged"])
def test_blocks_of_updates_alone_and_mixed_ones_in_one_unit(
    pg: PostgresPlace, monkeypatch: pytest.MonkeyPatch, recipe: str
) -> None:
    """Updates alone are staged without order and kind, in the same temporary table."""
    for name in ("BLOCK_BYTES", "EARLY_BYTES"):
        monkeypatch.setattr(f"seatunnel_connectors.jdbc.postgres.write.copy_loader.{name}", 1)
    target = Target(pg, is_exactly_once=True, exactly_once_recipe=recipe)
    writer = target.open()
    for rows in (
        inserts(1, 2, 3),
        [("+U", 1, "a"), ("-U", 2, "row 2"), ("+U", 2, "b"), ("+U", 1, "c")],
        [("+U", 2, "d"), ("-D", 1, "c"), ("+I", 4, "new")],
        [("+U", 4, "e"), ("+U", 9, "missing")],
    ):
        writer.write(batch(rows))
    target.sink.committer().commit([writer.stage()], target.context())

    assert target.rows == [(2, "d"), (3, "row 3"), (4, "e"), (9, "missing")]


# ---------------------------------------------------------------- second attempts


def test_a_worker_killed_after_commit_duplicates_nothing(pg: PostgresPlace) -> None:
    target = Target(pg, primary_keys=[])
    first = target.write(batch(inserts(1, 2, 3), after=3))

    for attempt in (0, 1, 2):
        again = target.write(batch(inserts(1, 2, 3), after=3), attempt=attempt)
        assert (again.rows, again.data["replayed"]) == (3, True)

    assert first.data["replayed"] is False
    assert len(target.rows) == 3


def test_a_second_attempt_that_reads_less_is_tried_again(pg: PostgresPlace) -> None:
    target = Target(pg, primary_keys=[])
    target.write(batch(inserts(1, 2, 3), after=3))

    with pytest.raises(RetriableError, match="holds 3 rows of this unit already"):
        target.write(batch(inserts(1), after=1), attempt=1)

    assert len(target.rows) == 3


def test_a_whole_split_that_changed_since_is_never_written_in_part(pg: PostgresPlace) -> None:
    target = Target(pg, primary_keys=[])
    target.write(batch(inserts(1, 2, 3)))

    with pytest.raises(RetriableError, match="holds 3 rows of this unit already, but this attempt read 4"):
        target.write(batch(inserts(0, 1, 2, 3)), attempt=1)

    assert [row[0] for row in target.rows] == [1, 2, 3]


def test_an_aborted_unit_leaves_nothing(pg: PostgresPlace) -> None:
    target = Target(pg)
    writer = target.open()
    writer.write(batch(inserts(1)))

    writer.abort()
    writer.abort()

    assert target.rows == []
    assert pg.rows("SELECT * FROM b.seatunnel_piece") == []


def test_older_epochs_and_incarnations_are_fenced_off(pg: PostgresPlace) -> None:
    target = Target(pg)
    zombie = target.open("old", epoch=0)
    zombie.write(batch(inserts(1)))
    target.write(batch(inserts(2)), data_id="new", epoch=1)

    with pytest.raises(FatalError, match="fenced off"):
        zombie.stage()
    target.sink.committer().recover(target.context(incarnation=2))
    with pytest.raises(FatalError, match="fenced off"):
        target.write(batch(inserts(3)), data_id="other", epoch=1)

    assert target.rows == [(2, "row 2")]


def test_a_finished_run_takes_no_more_units(pg: PostgresPlace) -> None:
    target = Target(pg)
    piece = target.write(batch(inserts(1)))
    target.sink.committer().commit([piece], target.context(3))

    with pytest.raises(FatalError, match="fenced off"):
        target.write(batch(inserts(2)), data_id="late")
    assert target.sink.committer().recover(target.context()) == 3


def test_pieces_that_the_target_does_not_hold_are_lost_not_committed(pg: PostgresPlace) -> None:
    target = Target(pg)
    piece = target.write(batch(inserts(1)))
    pg.db.execute("DELETE FROM b.seatunnel_piece")

    with pytest.raises(FatalError, match="1 of 1 units .* lost"):
        target.sink.committer().commit([piece], target.context())


# ---------------------------------------------------------------- values


def test_a_nul_character_is_refused_by_column_and_row(pg: PostgresPlace) -> None:
    target = Target(pg)

    with pytest.raises(FatalError, match="column 's', row 3 of unit u@") as error:
        target.write(batch([("+I", 1, "a"), ("+I", 2, "b")]), batch([("+I", 3, "c\0d")]))

    assert "NUL" in error.value.remedy


def test_a_value_too_long_or_missing_is_named(pg: PostgresPlace) -> None:
    pg.db.execute("CREATE TABLE b.t (id bigint PRIMARY KEY, s varchar(3) NOT NULL)")

    with pytest.raises(FatalError, match=r"b\.t.*too long.*column s"):
        Target(pg).write(batch([("+I", 1, "long")]))
    with pytest.raises(FatalError, match='null value in column "s"'):
        Target(pg).write(batch([("+I", 1, None)]))


def unsigned(kind: pa.DataType) -> TableSchema:
    return schema_from_arrow(TablePath("", "", "t"), pa.schema([("x", kind)]))


def test_unsigned_overflow_is_named(pg: PostgresPlace) -> None:
    pg.db.execute("CREATE TABLE b.t (x smallint)")
    sink, _ = make_sink(pg.sink(table="b.t"), unsigned(pa.int16()))
    setup = sink.plan_setup()
    sink.setup(setup)
    writer = sink.open(WriteContext("j", "l", "s", "d", setup=setup.data))
    data = pa.record_batch([pa.array([1, 65535], pa.uint16())], names=["x"])

    with pytest.raises(FatalError, match="column 'x'.*65535"):
        writer.write(Batch(TablePath("", "", "t"), data))
        writer.stage()


@pytest.fixture(scope="module")
def decimals(postgres_server: Any) -> Any:
    import psycopg

    with psycopg.connect(postgres_server.dsn, autocommit=True, prepare_threshold=None) as db:
        yield PostgresPlace(db, postgres_server.jdbc_url())


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), precision=st.integers(1, 38))
def test_decimals_of_every_precision_arrive(decimals: PostgresPlace, data: st.DataObject, precision: int) -> None:
    """The driver once corrupted them silently; so every precision and scale is tried."""
    scale = data.draw(st.integers(0, precision))
    limit = 10**precision - 1
    numbers = data.draw(st.lists(st.none() | st.integers(-limit, limit), min_size=1, max_size=30))
    values = [None if number is None else Decimal(f"{number}E-{scale}") for number in numbers]
    table = schema_from_arrow(TablePath("", "", "t"), pa.schema([("x", pa.decimal128(precision, scale))]))
    decimals.db.execute("DROP TABLE IF EXISTS public.dec")
    sink, _ = make_sink(decimals.sink(table="public.dec"), table)
    setup = sink.plan_setup()
    sink.setup(setup)
    writer = sink.open(WriteContext("j", "l", "s", "d", setup=setup.data))
    writer.write(Batch(table.path, pa.record_batch([pa.array(values, table.arrow().field(0).type)], names=["x"])))
    writer.stage()

    assert [row[0] for row in decimals.rows("SELECT x FROM public.dec")] == values
    source = make_source(decimals.source(table_path="public.dec"))
    [found] = source.tables()
    enumerator = source.enumerator([found], None)
    [split] = enumerator.discover()
    assert [
        value for one in source.reader(found).read(split, None) for value in one.data.column(0).to_pylist()
    ] == values
    enumerator.close()


# ---------------------------------------------------------------- statements of one's own


def test_query_with_positions_and_names(pg: PostgresPlace) -> None:
    pg.db.execute("CREATE TABLE a.t (id int, s text); INSERT INTO a.t VALUES (1, 'x'), (2, '100%?')")
    pg.db.execute("CREATE TABLE b.log (what text, id bigint)")

    copy_tables(
        pg.source(table_path="a.t"), {**pg.connection, "query": "INSERT INTO b.log VALUES (:s || ':id%?', :id::bigint)"}
    )
    copy_tables(
        pg.source(query="SELECT s, id FROM a.t"), {**pg.connection, "query": "INSERT INTO b.log VALUES (?, ?);"}
    )

    assert pg.rows("SELECT * FROM b.log") == [("x:id%?", 1), ("100%?:id%?", 2), ("x", 1), ("100%?", 2)]


def test_query_with_unknown_names_or_too_many_parameters(pg: PostgresPlace) -> None:
    for query, words in (("INSERT INTO x VALUES (:nope)", ":nope"), ("INSERT INTO x VALUES (?, ?, ?)", "3 parameters")):
        with pytest.raises(FatalError, match=words):
            make_sink({**pg.connection, "query": query}, SCHEMA)[0].open(WriteContext("j", "l", "s", "d"))


# ---------------------------------------------------------------- guarantees


@pytest.mark.parametrize(
    ("options", "proved", "guarantee"),
    [
        ({}, True, Guarantee.IDEMPOTENT),
        ({"primary_keys": []}, True, Guarantee.AT_LEAST_ONCE),
        ({"enable_upsert": False}, True, Guarantee.AT_LEAST_ONCE),
        ({"enable_upsert": False, "schema_save_mode": "RECREATE_SCHEMA"}, True, Guarantee.TWO_PHASE_COMMIT),
        ({"is_exactly_once": True, "schema_save_mode": "RECREATE_SCHEMA"}, True, Guarantee.TWO_PHASE_COMMIT),
        ({"query": "INSERT INTO x VALUES (?)"}, True, Guarantee.AT_LEAST_ONCE),
        ({"query": "INSERT INTO x VALUES (?)", "is_exactly_once": True}, True, Guarantee.TWO_PHASE_COMMIT),
    ],
)
def test_what_is_promised(options: dict[str, Any], proved: bool, guarantee: Guarantee) -> None:
    from seatunnel_connectors.jdbc.factory import JdbcSinkFactory

    factory = JdbcSinkFactory()
    table = TableSchema(SCHEMA.path, SCHEMA.columns, PrimaryKey(("id",), proved=proved))
    parsed = factory.options.model_validate({"url": "jdbc:postgresql://h/d", **options})

    found = factory.capabilities(parsed, table, StepContext("s", mode=JobMode.BATCH))  # type: ignore[arg-type]

    assert found.guarantee is guarantee and found.why
