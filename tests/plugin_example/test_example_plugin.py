"""The example plugin, tried by the conformance kit as the author's guide shows it."""

from __future__ import annotations

from pathlib import Path

from seatunnel_example import DoubleFactory, FollowFactory, LinesFactory

from seatunnel_py.api import Column, TablePath, TableSchema, parse_type
from seatunnel_py.testing import (
    SinkTarget,
    SourceTarget,
    TransformTarget,
    all_rows,
    check_sink,
    check_source,
    check_transform,
    run_job,
)


def test_follow(tmp_path: Path) -> None:
    def write(name: str, *lines: str) -> None:
        with (tmp_path / name).open("a") as file:
            file.writelines(f"{line}\n" for line in lines)

    def rows() -> list[tuple[str]]:
        return [(line,) for path in tmp_path.glob("*.log") for line in path.read_text().splitlines()]

    def more() -> None:
        write("a.log", "four")
        write("later.log", "five", "six")

    write("a.log", "one", "two")
    write("b.log", "three")
    report = check_source(SourceTarget(FollowFactory(), {"directory": str(tmp_path)}, rows, more))

    assert not report.broken, report.text


def test_double() -> None:
    table = TableSchema(TablePath.parse("numbers"), (Column("n", parse_type("bigint")),))
    rows = [(1,), (None,), (-7,)]
    target = TransformTarget(DoubleFactory(), {"field": "n"}, table, rows, lambda: [(2,), (None,), (-14,)])
    report = check_transform(target)

    assert not report.broken, report.text


def test_lines(tmp_path: Path) -> None:
    def fresh(number: int) -> SinkTarget:
        """A target of its own for each property; the side door reads the files without the plugin."""
        folder = tmp_path / str(number)

        def rows() -> list[tuple[object, ...]]:
            text = "".join(path.read_text() for path in folder.glob("*.txt"))
            return [row for row in all_rows() for _ in range(text.count(",".join(map(str, row)) + "\n"))]

        return SinkTarget(LinesFactory(), {"directory": str(folder)}, rows)

    report = check_sink(fresh)

    assert not report.broken, report.text


def test_a_whole_job() -> None:
    run = run_job("source { Countdown { start = 3 } }\ntransform { Double { field = n } }\nsink { Collect {} }")

    assert run.receipt.exit_code == 0, run.traces
    assert run.rows == {"countdown": [(6,), (4,), (2,)]}
