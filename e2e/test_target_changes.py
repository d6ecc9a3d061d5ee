"""P4-F1b, P4-F6: somebody removes staged rows, or the target itself, while a job runs: LOST, and never a success."""

from __future__ import annotations

from pathlib import Path

import pytest

from e2e.conftest import Databases
from e2e.support import IN_PROCESS, Finished, finish, start, wait_alive, write_job

ROWS = 2000


@pytest.mark.parametrize("recipe", ["staged", "direct"])
def test_what_others_remove_in_the_run_is_lost(tmp_path: Path, databases: Databases, recipe: str) -> None:
    """Some units are written by then, others follow: the job ended with SUCCESS and a part of its rows."""
    target, table = databases.target, f"removed_{recipe}"
    write_job(
        tmp_path,
        f"""
        env {{ parallelism = 1, unit.rows = 100, checkpoint.interval = 200, read_limit.rows_per_second = 400 }}
        source {{ FakeSource {{ row.num = {ROWS}, split.num = 20, schema {{ table = "shop.removed", fields {{ id = bigint }} }} }} }}
        sink {{ Jdbc {{ {databases.jdbc(target)}, generate_sink_sql = true, is_exactly_once = true,
                        exactly_once_recipe = {recipe}, database = {target}, table = "public.{table}" }} }}
        """,
    )
    run = start(tmp_path, "run", "job.conf", "--job-id", "job", "--json", program=IN_PROCESS)

    def ask(query: str) -> list[tuple[object, ...]]:
        with databases.connect(target) as connection:
            return connection.execute(query.encode()).fetchall()

    def staged() -> list[str]:
        beside = "SELECT relname FROM pg_class WHERE relkind = 'r' AND relname LIKE '%\\_\\_st\\_%'"
        return [str(name) for (name,) in ask(beside)]

    with databases.connect(target) as connection:
        if recipe == "staged":
            found = wait_alive(run, "three staged units", lambda: len(staged()) >= 3 and staged())
            connection.execute(f'TRUNCATE public."{found[0]}"'.encode())
        else:
            wait_alive(run, "visible rows", lambda: databases.count(table) >= 200)
            connection.execute(f"DROP TABLE public.{table}; CREATE TABLE public.{table} (id bigint)".encode())

    done: Finished = finish(run)

    assert done.code == 1, done.out + done.err
    [failed] = done.receipt["tables"]
    assert failed["state"] != "DONE" and "LOST" in failed["cause"]["message"], failed
    assert "--fresh" in failed["cause"]["remedy"], failed
    if recipe == "staged":
        assert databases.count(table) == 0, "nothing of it is visible"
