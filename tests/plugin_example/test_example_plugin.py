"""The example plugin, tried by the conformance kit as the author's guide shows it."""

from __future__ import annotations

from pathlib import Path

from seatunnel_example import DoubleFactory, FollowFactory

from seatunnel_py.api import Column, TablePath, TableSchema, parse_type
from seatunnel_py.testing import SourceTarget, TransformTarget, check_source, check_transform


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
