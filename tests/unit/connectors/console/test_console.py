"""Console: what SeaTunnel prints, in order, bounded."""

from __future__ import annotations

from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from seatunnel_connectors.console.factory import ConsoleSinkFactory
from seatunnel_py.api import (
    Batch,
    Column,
    CommitContext,
    Piece,
    TablePath,
    TableSchema,
    WriteContext,
    parse_type,
)
from seatunnel_py.formats.row_text import text_of

TABLE = TableSchema(
    TablePath.parse("db.t"), (Column("id", parse_type("int")), Column("tags", parse_type("map<string, int>")))
)
WRITE = WriteContext("job", "lineage", "console", "data")
COMMIT = CommitContext("job", "lineage", "console", 1)


def pieces(options: dict[str, Any], *columns: list[Any], kinds: list[int] | None = None) -> tuple[Any, Piece]:
    model = ConsoleSinkFactory.options.model_validate(options, context={"job_file": True})
    sink = ConsoleSinkFactory().create(model, TABLE, None)  # type: ignore[arg-type]
    writer = sink.open(WRITE)
    for rows in columns:
        data = pa.RecordBatch.from_pylist(rows, schema=TABLE.arrow())
        writer.write(Batch(TABLE.path, data, kinds=pa.array(kinds, pa.uint8()) if kinds else None))
    return sink.committer(), writer.stage()


def test_rows_look_as_the_peer_prints_them(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"id": 1, "tags": [("a", 2)]}, {"id": None, "tags": None}]
    committer, piece = pieces({}, rows, kinds=[0, 3])

    committer.commit([piece, piece], COMMIT)

    prefix = "SeaTunnelRow#tableId=db.t SeaTunnelRow#kind"
    assert capsys.readouterr().out.splitlines() == [
        "output rowType: id<INT>, tags<MAP<STRING, INT>>",
        f'subtaskIndex=0  rowIndex=1:  {prefix}=INSERT : 1, {{"a":2}}',
        f"subtaskIndex=0  rowIndex=2:  {prefix}=DELETE : null, null",
        f'subtaskIndex=0  rowIndex=3:  {prefix}=INSERT : 1, {{"a":2}}',
        f"subtaskIndex=0  rowIndex=4:  {prefix}=DELETE : null, null",
    ]


def test_many_rows_are_counted_not_printed(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"id": n, "tags": None} for n in range(30)]
    committer, piece = pieces({"log.print.max-rows": 40}, rows, rows)

    committer.commit([piece], COMMIT)

    printed = capsys.readouterr().out.splitlines()
    assert piece.rows == 60
    assert len(printed) == 42
    assert "20 more rows of db.t" in printed[-1]


def test_rows_can_be_switched_off(capsys: pytest.CaptureFixture[str]) -> None:
    committer, piece = pieces({"log.print.data": "false"}, [{"id": 1, "tags": None}])

    committer.commit([piece], COMMIT)

    assert piece.rows == 1
    assert capsys.readouterr().out == "output rowType: id<INT>, tags<MAP<STRING, INT>>\n"


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("string", "a", "a"),
        ("boolean", True, "true"),
        ("double", 1.0, "1.0"),
        ("double", 12345678.9, "1.23456789E7"),
        ("double", 1e-5, "1.0E-5"),
        ("double", -0.0, "-0.0"),
        ("double", float("nan"), "NaN"),
        ("double", float("-inf"), "-Infinity"),
        ("float", 3.0999999046325684, "3.1"),
        ("float", 3.4028234663852886e38, "3.4028235E38"),
        ("decimal(10, 8)", Decimal("0E-8"), "0.00000000"),
        ("date", date(2024, 1, 2), "2024-01-02"),
        ("time", time(10, 0), "10:00"),
        ("time", time(12, 34, 56, 459_000), "12:34:56.459"),
        ("timestamp", datetime(2024, 1, 2, 3, 4), "2024-01-02T03:04"),  # noqa: DTZ001 - a column without a zone
        ("bytes", b"a\xff", "[97, -1]"),
        ("array<string>", ["a", None], "[a, null]"),
        ("{a = int, b = string}", {"a": 1, "b": None}, "[1, null]"),
        ("map<int, double>", [(1, 0.5)], '{"1":0.5}'),
        ("map<string, map<string, int>>", [("a", [("b", 1)]), ("c", None)], '{"a":{"b":1},"c":null}'),
        ("map<int, array<map<string, string>>>", [(1, [[("a", "b")], []])], '{"1":[{"a":"b"},{}]}'),
        (
            "map<string, {d = decimal(30, 8), at = timestamp}>",
            [("k", {"d": Decimal("2924137191386439303744.39292216"), "at": datetime(2024, 1, 2, 3, 4)})],  # noqa: DTZ001 - a moment without a zone
            '{"k":{"d":2924137191386439303744.39292216,"at":"2024-01-02T03:04"}}',
        ),
        ("map<string, bytes>", [("k", b"a")], '{"k":"YQ=="}'),
    ],
)
def test_values_are_written_as_java_writes_them(kind: str, value: Any, text: str) -> None:
    assert text_of(value, parse_type(kind)) == text


def test_any_value_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """P3-F4: dates and moments that Python does not have; as Java writes them. Decimals have no powers of ten."""
    table = TableSchema(
        TablePath.parse("db.t"),
        (
            Column("d", parse_type("date")),
            Column("t", parse_type("timestamp")),
            Column("n", parse_type("decimal(18,15)")),
        ),
    )
    model = ConsoleSinkFactory.options.model_validate({}, context={"job_file": True})
    sink = ConsoleSinkFactory().create(model, table, None)  # type: ignore[arg-type]
    days, moments = (
        pa.array([11248738, -735160], pa.int32()),
        pa.array([253402300800 * 10**6, -(10**16) * 7], pa.int64()),
    )
    numbers = pa.array([Decimal("0E-15"), Decimal("1E-10")], pa.decimal128(18, 15))
    columns = [days.cast(pa.date32()), moments.cast(pa.timestamp("us")), numbers]
    writer = sink.open(WRITE)
    writer.write(Batch(table.path, pa.RecordBatch.from_arrays(columns, schema=table.arrow())))

    sink.committer().commit([writer.stage()], COMMIT)

    lines = [line.partition("INSERT : ")[2] for line in capsys.readouterr().out.splitlines()[1:]]
    assert lines == [
        "+32768-01-01, +10000-01-01T00:00, 0.000000000000000",
        "-0043-03-15, -0249-10-15T19:33:20, 0.000000000100000",
    ]
