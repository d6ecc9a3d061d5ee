"""Twenty tables, one of which cannot be written: nineteen arrive, and everybody is told about the one."""

from __future__ import annotations

from pathlib import Path

from e2e.conftest import Databases
from e2e.support import seatunnel, write_job

TABLES = 20
POISONED = "t7"


def make_tables(databases: Databases) -> None:
    with databases.connect(databases.source) as connection:
        for number in range(TABLES):
            connection.execute(
                f"CREATE TABLE t{number} (id bigint PRIMARY KEY, source text NOT NULL, seq int, amount numeric(12, 2),"
                " at timestamptz)"
            )
            connection.execute(
                f"INSERT INTO t{number} SELECT i, 't{number}', i, i * 1.25, timestamptz '2026-01-01' + i * interval '1 h'"
                f" FROM generate_series(1, {100 + number}) i"
            )
    with databases.connect(databases.target) as connection:
        # A check that no row passes: looked at from outside, the table is fine.
        connection.execute(
            f"CREATE TABLE {POISONED} (id bigint PRIMARY KEY, source text, seq int, amount numeric(12, 2),"
            " at timestamptz, CHECK (seq < 0))"
        )


def job(databases: Databases) -> str:
    tables = ", ".join(f'{{ table_path = "{databases.source}.public.t{number}" }}' for number in range(TABLES))
    return f"""
    env {{ parallelism = 2 }}
    source {{ Jdbc {{ {databases.jdbc(databases.source)}, table_list = [{tables}] }} }}
    sink {{ Jdbc {{ {databases.jdbc(databases.target)}, generate_sink_sql = true,
                    database = {databases.target}, table = "public.${{table_name}}" }} }}
    """


def test_nineteen_tables_arrive_when_one_cannot_be_written(tmp_path: Path, databases: Databases) -> None:
    """The table is what fails: content of the others is equal, the exit code is 3, receipt and JSON say why."""
    make_tables(databases)
    write_job(tmp_path, job(databases))

    run = seatunnel(tmp_path, "run", "job.conf", "--json")

    assert run.code == 3, run.err
    failed = [table for table in run.receipt["tables"] if table["state"] == "FAILED"]
    assert [table["table"] for table in failed] == [f"{databases.source}.public.{POISONED}"]
    assert "check constraint" in failed[0]["cause"]["message"]
    for number in range(TABLES):
        if f"t{number}" != POISONED:
            assert databases.rows(databases.target, f"t{number}") == databases.rows(databases.source, f"t{number}")
    assert databases.rows(databases.target, POISONED) == []
    shown = seatunnel(tmp_path, "jobs", "show", run.receipt["job_id"])
    assert f"FAILED     {databases.source}.public.{POISONED}" in shown.out
    assert "check constraint" in shown.out
