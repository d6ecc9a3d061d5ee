"""The example plugin, tried by the conformance kit as the author's guide shows it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from seatunnel_append import Append
from seatunnel_example import DoubleFactory, FollowFactory, LinesFactory
from seatunnel_functions import squares, unit_files
from seatunnel_numbers import Numbers

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


def test_numbers() -> None:
    report = check_source(SourceTarget(Numbers(), {"upto": 2500}, lambda: [(n,) for n in range(1, 2501)]))

    assert not report.broken, report.text


def test_append(tmp_path: Path) -> None:
    def fresh(number: int) -> SinkTarget:
        """A target of its own for each property; the side door reads the file without the plugin."""
        path = tmp_path / f"{number}.txt"

        def rows() -> list[tuple[object, ...]]:
            lines = path.read_text().splitlines() if path.exists() else []
            return [tuple(ast.literal_eval(line).values()) for line in lines]

        return SinkTarget(Append(), {"path": str(path)}, rows)

    report = check_sink(fresh)

    assert not report.broken, report.text


def test_functions(tmp_path: Path) -> None:
    """A function with a decorator is a plugin as a class is."""

    def fresh(number: int) -> SinkTarget:
        folder = tmp_path / str(number)

        def rows() -> list[tuple[object, ...]]:
            lines = [line for path in folder.glob("*.txt") for line in path.read_text().splitlines()]
            return [tuple(ast.literal_eval(line).values()) for line in lines]

        return SinkTarget(unit_files(), {"directory": str(folder)}, rows)

    written = check_sink(fresh)
    read = check_source(SourceTarget(squares(), {"upto": 5}, lambda: [(n, n * n) for n in range(1, 6)]))

    assert not written.broken, written.text
    assert not read.broken, read.text
    assert "idempotent" in written.text


@pytest.mark.parametrize(("file", "most"), [("seatunnel_numbers.py", 12), ("seatunnel_append.py", 10)])
def test_the_smallest_plugins_are_small(file: str, most: int) -> None:
    """Bar 7: the whole file, with its imports."""
    lines = [line for line in Path(__file__).with_name(file).read_text().splitlines() if line.strip()]

    assert len(lines) <= most


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


def test_a_job_of_simple_plugins(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    text = f'source {{ Numbers {{ upto = 3 }} }}\nsink {{ Append {{ path = "{path}" }} }}'
    run = run_job(text, plugins=[Numbers, Append])

    assert run.receipt.exit_code == 0, run.traces
    assert path.read_text() == "{'n': 1}\n{'n': 2}\n{'n': 3}\n"
