"""Streams that are killed: several tables, splits that end and splits that wait, and a source that has a limit."""

from __future__ import annotations

import signal
from pathlib import Path

from e2e.conftest import Databases
from e2e.support import IN_PROCESS, finish, kill_driver, seatunnel, start, wait_alive, write_job

TABLES, ROWS = 3, 6_000


def stream(home: Path, databases: Databases) -> None:
    """Rows say which table and which number they are; their times are those of the first driver's start."""
    tables = ",\n".join(
        f"""{{ row.num = {ROWS}, split.num = 10, split.read-interval = 20, bigint.fake.mode = range,
               auto.increment.enabled = true,
               schema {{ table = "shop.t{number}", fields {{ id = bigint, day = date }},
                         primaryKey {{ name = pk, columnNames = [id] }} }} }}"""
        for number in range(TABLES)
    )
    write_job(
        home,
        f"""
        env {{ job.mode = STREAMING, checkpoint.interval = 200 }}
        source {{ FakeSource {{ date.year.template = [2001], tables_configs = [ {tables} ] }} }}
        sink {{ Jdbc {{ {databases.jdbc(databases.target)}, generate_sink_sql = true,
                        database = {databases.target}, table = "public.${{table_name}}" }} }}
        """,
    )


def counts(databases: Databases) -> list[int]:
    """Rows of each table, as far as they are there."""
    return [databases.count(f"t{number}") for number in range(TABLES)]


def test_a_stream_of_several_tables_is_killed_and_gone_on_with(tmp_path: Path, databases: Databases) -> None:
    """Every row of every table once, whichever splits had ended, had been begun, or waited for their turn."""
    stream(tmp_path, databases)
    more: list[str] = []
    for part in (0.0, 0.4):
        process = start(tmp_path, "run", "job.conf", "--job-id", "stream", *more, program=IN_PROCESS)
        wanted = TABLES * ROWS * part
        wait_alive(process, f"{part} of the rows", lambda wanted=wanted: sum(counts(databases)) > wanted)
        kill_driver(process)
        more = ["--restore", "latest"]

    process = start(tmp_path, "run", "job.conf", "--job-id", "stream", *more, program=IN_PROCESS)
    wait_alive(process, "all rows, and stays open", lambda: counts(databases) == [ROWS] * TABLES)
    process.send_signal(signal.SIGTERM)
    assert finish(process).code == 143
    for number in range(TABLES):
        rows = databases.rows(databases.target, f"t{number}")
        assert [row[0] for row in rows] == list(range(1, ROWS + 1))


def test_a_source_is_read_no_faster_than_its_limit(tmp_path: Path) -> None:
    """By all of its readers together, however fast the machine is; each reader's first batch is not known before."""
    rows, batch, limit, readers = 6_000, 100, 1_500, 2
    write_job(
        tmp_path,
        f"""
        env {{ parallelism = {readers}, read_limit.rows_per_second = {limit} }}
        source {{ FakeSource {{ row.num = {rows // readers}, split.num = {rows // readers // batch},
                                schema {{ table = "shop.t", fields {{ id = bigint }} }} }} }}
        sink {{ Assert {{ rules {{ row_rules = [ {{ rule_type = MIN_ROW, rule_value = {rows} }} ] }} }} }}
        """,
    )
    run = seatunnel(tmp_path, "run", "job.conf", "--json")

    assert run.code == 0, run.err + run.out
    assert run.receipt["tables"][0]["rows_read"] == rows
    assert run.receipt["seconds"]["data"] >= (rows - readers * batch) / limit
