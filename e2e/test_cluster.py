"""A Spark standalone cluster of two workers: the same job with ``spark.master`` changed, nothing installed there."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from e2e.conftest import Databases
from e2e.support import finish, kill9, start, wait_alive, wait_for, write_job
from tests.servers.process_tree import jvms_below
from tests.servers.spark_cluster import SparkCluster, spark_cluster

EXECUTOR_SECONDS_MAX = 180.0  # it starts on a machine that may be busy with other tests
JOB_SECONDS_MAX = 500.0  # the first one also packs the libraries that travel with it


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    with spark_cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.mark.timeout(600)
def test_a_multi_table_job_runs_on_a_cluster(tmp_path: Path, databases: Databases, cluster: SparkCluster) -> None:
    """Code and libraries travel with the job; every table arrives with equal content."""
    with databases.connect(databases.source) as connection:
        for number in range(5):
            connection.execute(f"CREATE TABLE t{number} (id bigint PRIMARY KEY, name text NOT NULL)")
            connection.execute(f"INSERT INTO t{number} SELECT i, 'n' || i FROM generate_series(1, 1000) i")
    write_job(
        tmp_path,
        f"""
        env {{ parallelism = 2, spark.master = "{cluster.url}" }}
        source {{ Jdbc {{ {databases.jdbc(databases.source)}, use_regex = true,
                          table_path = "{databases.source}.public.t\\\\d" }} }}
        sink {{ Jdbc {{ {databases.jdbc(databases.target)}, generate_sink_sql = true,
                        database = {databases.target}, table = "public.${{table_name}}" }} }}
        """,
    )

    run = finish(start(tmp_path, "run", "job.conf", "--json"), JOB_SECONDS_MAX)

    assert run.code == 0, run.err + run.out
    assert len(run.tables("DONE")) == 5
    for number in range(5):
        assert databases.rows(databases.target, f"t{number}") == databases.rows(databases.source, f"t{number}")


@pytest.mark.timeout(600)
def test_a_join_runs_on_a_cluster(tmp_path: Path, databases: Databases, cluster: SparkCluster) -> None:
    """A query over two tables: inputs are exchanged between workers, Catalyst joins, the answer is written."""
    with databases.connect(databases.source) as connection:
        connection.execute("CREATE TABLE people (id bigint PRIMARY KEY, name text NOT NULL)")
        connection.execute("INSERT INTO people SELECT i, 'n' || i FROM generate_series(1, 50) i")
        connection.execute(
            "CREATE TABLE orders (id bigint PRIMARY KEY, person bigint NOT NULL, amount bigint NOT NULL)"
        )
        connection.execute("INSERT INTO orders SELECT i, 1 + i % 60, i FROM generate_series(1, 5000) i")
    write_job(
        tmp_path,
        f"""
        env {{ parallelism = 2, spark.master = "{cluster.url}" }}
        source {{
          Jdbc {{ plugin_output = people, {databases.jdbc(databases.source)}, table_path = "{databases.source}.public.people" }}
          Jdbc {{ plugin_output = orders, {databases.jdbc(databases.source)}, table_path = "{databases.source}.public.orders" }}
        }}
        transform {{
          Sql {{ plugin_input = [people, orders], plugin_output = totals,
                 query = "select p.id, p.name, count(*) as n, sum(o.amount) as total from orders o join people p on o.person = p.id group by p.id, p.name" }}
        }}
        sink {{ Jdbc {{ plugin_input = totals, {databases.jdbc(databases.target)}, generate_sink_sql = true,
                        database = {databases.target}, table = "public.totals", primary_keys = [id] }} }}
        """,
    )

    run = finish(start(tmp_path, "run", "job.conf", "--json"), JOB_SECONDS_MAX)

    assert run.code == 0, run.err + run.out
    with databases.connect(databases.source) as connection:
        expected = connection.execute(
            "SELECT p.id, p.name, count(*), sum(o.amount)::bigint FROM orders o JOIN people p ON o.person = p.id"
            " GROUP BY p.id, p.name ORDER BY 1"
        ).fetchall()
    assert databases.rows(databases.target, "totals") == expected


@pytest.mark.timeout(600)
@pytest.mark.parametrize("phase", ["it is there", "it copies"])
def test_a_killed_executor_costs_only_its_unfinished_units(
    tmp_path: Path, databases: Databases, cluster: SparkCluster, phase: str
) -> None:
    """F9: its JVM, with every Python worker below it, before its first unit or in the middle of one."""
    with databases.connect(databases.source) as connection:
        connection.execute("CREATE TABLE orders (id bigint PRIMARY KEY, source text, split int, seq int)")
        connection.execute("INSERT INTO orders SELECT i, 'orders', i % 4, i / 4 FROM generate_series(1, 2000) i")
    with databases.connect(databases.target) as connection:
        connection.execute("CREATE TABLE orders (id bigint PRIMARY KEY, source text, split int, seq int)")
        connection.execute(
            "CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN PERFORM pg_sleep(0.005); RETURN new; END $$"
        )
        connection.execute("CREATE TRIGGER slowly BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION slowly()")
    write_job(
        tmp_path,
        f"""
        env {{ parallelism = 2, unit.rows = 400, job.retry.interval.seconds = 1, spark.master = "{cluster.url}" }}
        source {{ Jdbc {{ {databases.jdbc(databases.source)}, table_path = "{databases.source}.public.orders" }} }}
        sink {{ Jdbc {{ {databases.jdbc(databases.target)}, generate_sink_sql = true, is_exactly_once = true,
                        exactly_once_recipe = direct, database = {databases.target}, table = "public.orders" }} }}
        """,
    )
    copies = (  # into a table with a trigger rows go by an INSERT
        "SELECT 1 FROM pg_stat_activity WHERE query ~* 'insert into .*orders' AND state = 'active' "
        "AND datname = current_database() AND pid <> pg_backend_pid()"
    )

    def executors() -> list[int]:
        return [jvm for one in cluster.workers.values() for jvm in jvms_below(one.pid, "CoarseGrainedExecutorBackend")]

    wait_for("the executors of the test before to be gone", lambda: not executors())
    process = start(tmp_path, "run", "job.conf", "--json")
    try:
        with databases.connect(databases.target) as connection:
            begun = partial(connection.execute, copies if phase == "it copies" else "SELECT 1")
            wait_alive(process, phase, lambda: executors() and begun().fetchone(), EXECUTOR_SECONDS_MAX)
        killed = executors()
        for executor in killed:
            kill9(executor)
        ended = finish(process, JOB_SECONDS_MAX)
    finally:
        process.kill()  # where a step above has failed

    assert killed
    assert ended.code == 0, ended.err + ended.out
    assert databases.rows(databases.target, "orders") == databases.rows(databases.source, "orders")
