"""Many tables, three of which cannot be copied: the others arrive, and everybody is told about the three."""

from __future__ import annotations

import signal
from pathlib import Path

from e2e.conftest import Databases
from e2e.support import IN_PROCESS, finish, seatunnel, start, wait_alive, write_job

TABLES = 200  # more than are open at a time
REFUSED, NARROW, UNREADABLE = "t7", "t3", "t11"
POISONED = {REFUSED, NARROW, UNREADABLE}
HEALTHY = [f"t{number}" for number in range(TABLES) if f"t{number}" not in POISONED]
SECONDS_MAX = 150.0


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
        # A view whose last row cannot be computed.
        connection.execute(f"ALTER TABLE {UNREADABLE} RENAME TO base")
        connection.execute(f"CREATE VIEW {UNREADABLE} AS SELECT id, source, 10 / (id - 111) AS seq FROM base")
    poison_targets(databases)


def poison_targets(databases: Databases) -> None:
    with databases.connect(databases.target) as connection:
        # A check that no row passes: looked at from outside, the table is fine.
        connection.execute(
            f"CREATE TABLE {REFUSED} (id bigint PRIMARY KEY, source text, seq int, amount numeric(12, 2),"
            " at timestamptz, CONSTRAINT never CHECK (seq < 0))"
        )
        connection.execute(f"CREATE TABLE {NARROW} (id bigint PRIMARY KEY)")


def job(databases: Databases) -> str:
    tables = ", ".join(f'{{ table_path = "{databases.source}.public.t{number}" }}' for number in range(TABLES))
    return f"""
    env {{ parallelism = 2 }}
    source {{ Jdbc {{ {databases.jdbc(databases.source)}, table_list = [{tables}] }} }}
    sink {{ Jdbc {{ {databases.jdbc(databases.target)}, generate_sink_sql = true,
                    database = {databases.target}, table = "public.${{table_name}}" }} }}
    """


def test_three_tables_are_isolated_and_one_that_is_mended_is_finished(tmp_path: Path, databases: Databases) -> None:
    """U15: The table is what fails: content of the others is equal, the exit code is 3, receipt and JSON say why. What was
    mended arrives with --restore latest, and nobody touches a table that was done."""
    make_tables(databases)
    write_job(tmp_path, job(databases))

    run = seatunnel(tmp_path, "run", "job.conf", "--job-id", "many", "--json")

    assert run.code == 3, run.err
    assert run.tables("ISOLATED") == {f"{databases.source}.public.{table}" for table in POISONED}
    assert len(run.tables("DONE")) == TABLES - len(POISONED)
    causes = {table["table"].rpartition(".")[2]: table["cause"] for table in run.receipt["tables"] if table["cause"]}
    assert "check constraint" in causes[REFUSED]["message"]
    assert "division by zero" in causes[UNREADABLE]["message"]
    assert "does not fit" in causes[NARROW]["message"]
    for table in HEALTHY:
        assert databases.rows(databases.target, table) == databases.rows(databases.source, table)
    assert databases.rows(databases.target, REFUSED) == []
    shown = seatunnel(tmp_path, "jobs", "show", "many")
    assert f"ISOLATED   {databases.source}.public.{REFUSED}" in shown.out and "check constraint" in shown.out

    with databases.connect(databases.target) as connection:
        connection.execute(f"ALTER TABLE {REFUSED} DROP CONSTRAINT never")
        connection.execute("DELETE FROM t0")  # whoever copied it again would be seen
    going_on = ("run", "job.conf", "--job-id", "many", "--json", "--restore", "latest")
    again = finish(start(tmp_path, *going_on, program=IN_PROCESS))

    assert again.code == 3, again.err
    assert again.tables("ISOLATED") == {f"{databases.source}.public.{table}" for table in (NARROW, UNREADABLE)}
    assert databases.rows(databases.target, REFUSED) == databases.rows(databases.source, REFUSED)
    assert databases.rows(databases.target, "t0") == []


def test_streams_go_on_beside_isolated_ones(tmp_path: Path, databases: Databases) -> None:
    """Two of many streams fail; the others show all their rows, and end behind a savepoint when they are stopped."""
    with databases.connect(databases.target) as connection:
        connection.execute(f"CREATE TABLE {REFUSED} (id bigint PRIMARY KEY CHECK (id < 0))")
        connection.execute(f"CREATE TABLE {NARROW} (other bigint PRIMARY KEY)")
    fields = "fields { id = bigint }, primaryKey { name = pk, columnNames = [id] }"
    tables = ", ".join(
        f'{{ schema {{ table = "t{number}", {fields} }}, row.num = {10 + number}, auto.increment.enabled = true,'
        " bigint.fake.mode = range }"
        for number in range(TABLES)
    )
    write_job(
        tmp_path,
        f"""
        env {{ job.mode = STREAMING, checkpoint.interval = 1000 }}
        source {{ FakeSource {{ tables_configs = [{tables}] }} }}
        sink {{ Jdbc {{ {databases.jdbc(databases.target)}, generate_sink_sql = true,
                        database = {databases.target}, table = "public.${{table_name}}" }} }}
        """,
    )
    process = start(tmp_path, "run", "job.conf", "--job-id", "streams", "--json")
    streams = [f"t{number}" for number in range(TABLES) if f"t{number}" not in (REFUSED, NARROW)]

    def arrived() -> bool:
        with databases.connect(databases.target) as connection:
            query = "SELECT count(*) FROM pg_tables WHERE tablename = ANY(%s)"
            if connection.execute(query, [streams]).fetchone() != (len(streams),):
                return False
            counts = " UNION ALL ".join(f"SELECT '{table}', count(*) FROM {table}" for table in streams)
            return all(rows == 10 + int(table[1:]) for table, rows in connection.execute(counts.encode()))

    try:
        wait_alive(process, "all rows", arrived, SECONDS_MAX)
        process.send_signal(signal.SIGTERM)
        run = finish(process)
    finally:
        process.kill()

    assert run.code == 143, run.err
    assert {name.rpartition(".")[2] for name in run.tables("ISOLATED")} == {REFUSED, NARROW}
    assert all(table["cause"] for table in run.receipt["tables"] if table["state"] == "ISOLATED")
    assert all(
        databases.rows(databases.target, name) == [(at,) for at in range(1, 11 + int(name[1:]))] for name in streams
    )
