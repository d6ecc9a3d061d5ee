"""Much at once (F62): wide rows, wide batches, thousands of columns and splits take bounded memory, or are refused in
words that say what is too much. Driver and worker are one process here, whose peak is looked at.

``SEATUNNEL_HEAVY=1`` (``make memory``) takes the sizes that nobody wants to wait for at every change.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

import pymysql
import pytest

from e2e.conftest import Databases
from e2e.support import IN_PROCESS, Finished, start, write_job
from tests.servers.mariadb import MariadbServer
from tests.servers.process_tree import memory_mb

HEAVY = bool(os.environ.get("SEATUNNEL_HEAVY"))
MB = 1 << 20
BASE_MB = 140  # a process that has imported everything
ROW_MB = 300 if HEAVY else 64
WIDE_ROWS = 1_000
COLUMNS = 10_000 if HEAVY else 2_000
SPLITS = 20_000
LOOK_SECONDS = 0.02
READ_AHEAD_MB = 260  # pages of MariaDB and batches under way, whatever the table's size

heavy = pytest.mark.skipif(not HEAVY, reason="takes a minute: SEATUNNEL_HEAVY=1 (make memory) runs it")


@dataclass(frozen=True, slots=True)
class Measured:
    run: Finished
    peak_mb: float


def run(home: Path) -> Measured:
    """A job to its end, and the most memory that it ever had. A process inherits what its parent's usage says of that,
    so the kernel's word for its own address space is asked for as long as it lives."""
    process = start(
        home, "run", "job.conf", "--json", program=IN_PROCESS, output=home / "receipt.json", own_interpreter=True
    )
    peak = 0.0
    while process.poll() is None:
        peak = max(peak, memory_mb(process.pid, "VmHWM") or 0.0)
        time.sleep(LOOK_SECONDS)
    assert process.stderr is not None
    with process.stderr as err:
        ended = Finished(process.returncode, (home / "receipt.json").read_text(), err.read())
    return Measured(ended, peak)


def of_columns(count: int, sink: str) -> str:
    fields = "\n".join(f"c{number} = bigint" for number in range(count))
    return f"""
        source {{ FakeSource {{ row.num = 20
            schema {{ table = "db.t"
                      fields {{ {fields} }} }} }} }}
        sink {{ {sink} }}"""


@pytest.mark.parametrize("into", ["table", pytest.param("file", marks=heavy)])
def test_one_row_of_many_megabytes(tmp_path: Path, databases: Databases, into: str) -> None:
    with databases.connect(databases.source) as connection:
        connection.execute("CREATE TABLE one (id int PRIMARY KEY, body text)")
        connection.execute("ALTER TABLE one ALTER body SET STORAGE EXTERNAL")
        connection.execute("INSERT INTO one SELECT n, repeat('x', (CASE n WHEN 2 THEN %s ELSE 9 END)::int) "
                           "FROM generate_series(1, 3) n", [ROW_MB * MB])  # fmt: skip
    table = f"""Jdbc {{ {databases.jdbc(databases.target)}, generate_sink_sql = true, database = {databases.target},
                        table = "public.one" }}"""
    file = f'LocalFile {{ path = "{tmp_path}/out", file_format_type = csv }}'
    write_job(
        tmp_path,
        f"""source {{ Jdbc {{ {databases.jdbc(databases.source)}, table_path = "{databases.source}.public.one" }} }}
        sink {{ {table if into == "table" else file} }}""",
    )

    measured = run(tmp_path)

    assert measured.run.code == 0, measured.run.out + measured.run.err
    assert measured.peak_mb < BASE_MB + 7 * ROW_MB, "a row is held a few times, not once a message"
    if into == "table":
        with databases.connect(databases.target) as connection:
            found = connection.execute("SELECT id, length(body) FROM one ORDER BY 1").fetchall()
        assert found == [(1, 9), (2, ROW_MB * MB), (3, 9)]
    else:
        assert sum(file.stat().st_size for file in (tmp_path / "out").rglob("*.csv")) > ROW_MB * MB


@heavy
def test_rows_of_a_megabyte_are_not_read_by_the_thousand(tmp_path: Path) -> None:
    """ConnectorX counts rows: 20,000 of these would be all the memory that there is."""
    with MariadbServer.running() as server:
        with pymysql.connect(**server.connection(), autocommit=True) as connection, connection.cursor() as cursor:
            cursor.execute("CREATE TABLE wide (id int PRIMARY KEY, body longtext)")
            cursor.execute(f"INSERT INTO wide SELECT seq, repeat('x', {MB}) FROM seq_1_to_{WIDE_ROWS}")
            cursor.execute("ANALYZE TABLE wide")
        write_job(
            tmp_path,
            f"""source {{ Jdbc {{ url = "{server.jdbc_url()}", user = root, table_path = "test.wide" }} }}
            sink {{ LocalFile {{ path = "{tmp_path}/out", file_format_type = parquet }} }}""",
        )

        measured = run(tmp_path)

    assert measured.run.code == 0, measured.run.out + measured.run.err
    assert measured.run.receipt["totals"]["rows_written"] == WIDE_ROWS
    assert measured.peak_mb < BASE_MB + READ_AHEAD_MB


def test_thousands_of_columns(tmp_path: Path) -> None:
    write_job(tmp_path, of_columns(COLUMNS, f'LocalFile {{ path = "{tmp_path}/out", file_format_type = csv }}'))

    measured = run(tmp_path)

    assert measured.run.code == 0, measured.run.out + measured.run.err
    [line, *_] = next((tmp_path / "out").rglob("*.csv")).read_text().splitlines()
    assert line.count(",") == COLUMNS - 1
    assert measured.peak_mb < BASE_MB + COLUMNS / 50


def test_more_columns_than_a_target_has_are_refused(tmp_path: Path, databases: Databases) -> None:
    write_job(tmp_path, of_columns(COLUMNS, f"""Jdbc {{ {databases.jdbc(databases.target)}, generate_sink_sql = true,
        database = {databases.target}, table = "public.t" }}"""))  # fmt: skip

    measured = run(tmp_path)

    assert measured.run.code == 1
    [table] = measured.run.receipt["tables"]
    assert "public.t: tables can have at most 1600 columns" in table["cause"]["message"]
    assert "Filter" in table["cause"]["remedy"]


@pytest.mark.parametrize("number", [pytest.param(SPLITS, marks=heavy), 1_000_000_000])
def test_splits(tmp_path: Path, number: int) -> None:
    """Some are worked off in bounded memory; what nobody can have meant is refused before anything is made."""
    write_job(tmp_path, f"""
        source {{ FakeSource {{ row.num = {number}, split.num = {number}, schema {{ fields {{ id = bigint }} }} }} }}
        sink {{ LocalFile {{ path = "{tmp_path}/out", file_format_type = csv }} }}""")  # fmt: skip

    measured = run(tmp_path)

    assert measured.peak_mb < BASE_MB + 20 + SPLITS / 80
    if number == SPLITS:
        assert measured.run.code == 0, measured.run.out + measured.run.err
        assert measured.run.receipt["totals"]["rows_written"] == SPLITS
    else:
        assert measured.run.code == 2
        assert "split.num" in measured.run.out
