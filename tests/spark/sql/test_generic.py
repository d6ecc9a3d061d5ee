"""The ``Spark`` source and sink: any format, partition by partition, written at the commit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from seatunnel_py.api import CommitContext, Guarantee, Split, StepContext, TablePath
from seatunnel_py.spark.plugins.generic import SparkSinkFactory, SparkSourceFactory
from seatunnel_py.spark.query.catalyst import Analyst
from seatunnel_py.spark.query.unit import QuerySessions, needs_catalyst, run_query_unit
from seatunnel_py.work.chain import Chain, ChainSink, ChainSource, ChainSql
from seatunnel_py.work.unit import FailureKind, Unit, UnitId, UnitResult

pytestmark = pytest.mark.spark

CONTEXT = StepContext("spark")


@pytest.fixture(scope="module")
def sessions(application: Any) -> QuerySessions:
    return QuerySessions(application.context)


def source(**options: Any) -> Any:
    factory = SparkSourceFactory()
    return factory.create(factory.options.model_validate({"plugin_output": "shop.orders", **options}), CONTEXT)


def sink(table: Any, **options: Any) -> Any:
    factory = SparkSinkFactory()
    return factory.create(factory.options.model_validate(options), table, CONTEXT)


def splits(found: Any) -> list[Split]:
    return list(found.enumerator(found.tables(), None).discover())


def run(sessions: QuerySessions, found: Any, out: Any, place: Path, *queries: ChainSql) -> list[UnitResult]:
    """Every split through the queries into the sink."""
    (table,) = found.tables()
    chain = Chain(
        "v", "job", "lineage", 1, ChainSource("in", found, table), queries, (ChainSink("out", table.schema.path, out),)
    )
    assert needs_catalyst(chain)
    return [
        run_query_unit(sessions, chain, Unit(UnitId("v", number), split), str(place))
        for number, split in enumerate(splits(found))
    ]


def commit(out: Any, results: list[UnitResult], checkpoint: int = 1) -> None:
    pieces = [piece.piece for result in results for piece in result.pieces]
    out.committer().commit(pieces, CommitContext("job", "lineage", "out", checkpoint))


def test_every_partition_is_read_once(session: Any, sessions: QuerySessions, tmp_path: Path) -> None:
    """Parquet in, a query on the way, JSON out; nothing is there before the commit."""
    session.range(0, 100, 1, 3).selectExpr("id", "concat('n', id) AS `odd.name`").write.parquet(str(tmp_path / "in"))
    found = source(format="parquet", options={"path": str(tmp_path / "in")})
    (table,) = found.tables()
    analysis = Analyst(session).analyse(
        "select id, `odd.name` as n from o where id < 50", {"o": table.schema}, "seatunnel"
    )
    output = table.schema.with_columns(analysis.columns)
    query = ChainSql("Sql", table.schema, "o", analysis.query, output)
    out = sink(output, format="json", options={"path": str(tmp_path / "out")}, tmp_path=str(tmp_path / "wait"))

    results = run(sessions, found, out, tmp_path, query)

    assert [str(column.dtype) for column in table.schema.columns] == ["bigint", "string"]
    assert [result.failure for result in results] == [None] * len(results)
    assert sum(result.rows for result in results) == 100
    assert not (tmp_path / "out").exists()
    commit(out, results)
    rows = session.read.json(str(tmp_path / "out")).orderBy("id").collect()
    assert [(row.id, row.n) for row in rows] == [(at, f"n{at}") for at in range(50)]


def test_a_commit_that_is_repeated_writes_nothing_more(session: Any, sessions: QuerySessions, tmp_path: Path) -> None:
    """What was written down as done is not done again; the rows that waited are gone."""
    session.range(10).write.parquet(str(tmp_path / "in"))
    found = source(format="parquet", options={"path": str(tmp_path / "in")})
    options = {"path": str(tmp_path / "out")}
    out = sink(found.tables()[0].schema, format="json", options=options, tmp_path=str(tmp_path / "wait"))
    results = run(sessions, found, out, tmp_path)

    commit(out, results)
    commit(out, results)

    assert session.read.json(str(tmp_path / "out")).count() == 10
    assert list((tmp_path / "wait").rglob("*.segment")) == []


def test_overwrite_drops_what_was_there_before_the_run(session: Any, sessions: QuerySessions, tmp_path: Path) -> None:
    """Only the first commit of a run overwrites: the second one must not drop the first one's rows."""
    session.range(5).write.json(str(tmp_path / "out"))
    session.range(10).write.parquet(str(tmp_path / "in"))
    found = source(format="parquet", options={"path": str(tmp_path / "in")})
    out = sink(
        found.tables()[0].schema,
        format="json",
        options={"path": str(tmp_path / "out")},
        save_mode="overwrite",
        tmp_path=str(tmp_path / "wait"),
    )

    commit(out, run(sessions, found, out, tmp_path), 1)
    commit(out, run(sessions, found, out, tmp_path), 2)

    assert session.read.json(str(tmp_path / "out")).count() == 20
    assert out.plan_setup().effects[0].destructive


def test_a_declared_schema_needs_no_look(session: Any, sessions: QuerySessions, tmp_path: Path) -> None:
    """The columns are the declared ones, in their order; csv is read with their types."""
    (tmp_path / "in.csv").write_text("1,a\n2,b\n")
    schema = {"table": "shop.t", "fields": {"id": "bigint", "name": "string"}}
    found = source(format="csv", options={"path": str(tmp_path / "in.csv")}, schema=schema)
    options = {"path": str(tmp_path / "out")}
    out = sink(found.tables()[0].schema, format="csv", options=options, tmp_path=str(tmp_path / "wait"))

    commit(out, run(sessions, found, out, tmp_path))

    assert found.tables()[0].schema.path == TablePath("shop", "", "t")
    assert sorted(line for path in (tmp_path / "out").glob("*.csv") for line in path.read_text().split()) == [
        "1,a",
        "2,b",
    ]


def test_a_format_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Spark cannot read the format nosuch"):
        source(format="nosuch").tables()


def test_partitions_that_changed_fail_the_unit(session: Any, sessions: QuerySessions, tmp_path: Path) -> None:
    """A split names a partition, which means nothing once the rows are divided anew."""
    session.range(0, 10, 1, 2).write.parquet(str(tmp_path / "in"))
    found = source(format="parquet", options={"path": str(tmp_path / "in")})
    (table,) = found.tables()
    head = ChainSource("in", found, table)
    out = ChainSink("out", table.schema.path, sink(table.schema, format="json", tmp_path=str(tmp_path)))
    split = Split("x", table.schema.path, {"partition": 0, "partitions": 99})

    result = run_query_unit(
        sessions, Chain("v", "job", "lineage", 1, head, (), (out,)), Unit(UnitId("v", 0), split), str(tmp_path)
    )

    assert result.failure is not None
    assert (result.failure.kind, "had 99 partitions" in result.failure.message) == (FailureKind.FATAL, True)


def test_a_bad_value_fails_the_unit_in_words(session: Any, sessions: QuerySessions, tmp_path: Path) -> None:
    """A job over single partitions tells its errors in another way, and they are read as well."""
    session.range(3).selectExpr("concat('n', id) AS name").write.parquet(str(tmp_path / "in"))
    found = source(format="parquet", options={"path": str(tmp_path / "in")})
    (table,) = found.tables()
    analysis = Analyst(session).analyse("select cast(name as int) as n from o", {"o": table.schema}, "seatunnel")
    output = table.schema.with_columns(analysis.columns)
    query = ChainSql("Sql", table.schema, "o", analysis.query, output)

    results = run(sessions, found, sink(output, format="json", tmp_path=str(tmp_path / "wait")), tmp_path, query)

    failure = next(result.failure for result in results if result.failure)
    assert (failure.kind, failure.step) == (FailureKind.FATAL, "Sql")
    assert failure.message.startswith("The value 'n")


def test_the_guarantee_is_told(session: Any) -> None:
    factory = SparkSinkFactory()
    capabilities = factory.capabilities(factory.options(format="json"), None, CONTEXT)  # type: ignore[arg-type]

    assert (capabilities.guarantee, capabilities.why) == (
        Guarantee.AT_LEAST_ONCE,
        "Spark's writers commit on their own",
    )
