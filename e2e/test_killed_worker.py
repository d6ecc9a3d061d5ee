"""A Python worker killed in the middle of a copy: a new attempt, the same rows, once."""

from __future__ import annotations

from pathlib import Path

from e2e.conftest import Databases
from e2e.support import finish, kill9, python_workers, start, wait_for, write_job

ROWS = 600_000


def test_a_killed_worker_costs_only_its_unfinished_units(tmp_path: Path, databases: Databases) -> None:
    """F10, I36: whatever the killed process had done, every row is in the target once."""
    with databases.connect(databases.source) as connection:
        connection.execute("CREATE TABLE big (id bigint PRIMARY KEY, source text NOT NULL, seq int NOT NULL)")
        connection.execute(f"INSERT INTO big SELECT i, 'big', i FROM generate_series(1, {ROWS}) i")
        connection.execute("CREATE TABLE small AS SELECT * FROM big LIMIT 1000")
        connection.execute("ANALYZE")
    write_job(
        tmp_path,
        f"""
        env {{ parallelism = 2, unit.rows = 50000 }}
        source {{ Jdbc {{ {databases.jdbc(databases.source)}, split.size = 100000,
                          table_list = [ {{ table_path = "{databases.source}.public.big" }},
                                         {{ table_path = "{databases.source}.public.small" }} ] }} }}
        sink {{ Jdbc {{ {databases.jdbc(databases.target)}, generate_sink_sql = true,
                        database = {databases.target}, table = "public.${{table_name}}" }} }}
        """,
    )
    process = start(tmp_path, "run", "job.conf", "--json")

    with databases.connect(databases.target) as connection:
        wait_for(
            "a worker that copies",
            lambda: connection.execute(
                "SELECT 1 FROM pg_stat_activity WHERE query ~* 'copy .* from stdin' AND state = 'active' "
                "AND datname = current_database() AND pid <> pg_backend_pid()"
            ).fetchone(),
        )
    for worker in python_workers(process.pid):
        kill9(worker)
    run = finish(process)

    assert run.code == 0, run.err + run.out
    assert sum(table["attempts"] for table in run.receipt["tables"]) >= 1
    repeated = run.receipt["repeated"]
    assert repeated and all("the worker was lost: " in one["cause"] for one in repeated), repeated
    assert sum(one["attempts"] for one in repeated) == sum(table["attempts"] for table in run.receipt["tables"])
    assert databases.rows(databases.target, "big") == databases.rows(databases.source, "big")
    assert sorted(databases.rows(databases.target, "small")) == sorted(databases.rows(databases.source, "small"))
