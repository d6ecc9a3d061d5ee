"""`jobs show --plan` shows the plan of a run as it was, whatever has changed since, and whatever was killed."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

from e2e.support import IN_PROCESS, finish, kill9, seatunnel, start, wait_alive, write_job

SECRET = "a-canary-of-a-secret"
JOB = """
    env { job.name = shop, guarantee = at-least-once, read_limit.rows_per_second = 2000, unit.rows = 200
          checkpoint.interval = 300 }
    source { Jdbc { url = "jdbc:sqlite:shop.db", password = "${env:SHOP_PASSWORD}", plugin_output = shop
                    table_list = [{ table_path = orders }, { table_path = lines }] } }
    sink {
      Jdbc { plugin_input = shop, url = "jdbc:sqlite:target.db", generate_sink_sql = true, table = "t_${table_name}" }
      LocalFile { plugin_input = shop, path = "out/${table_name}", file_format_type = parquet }
    }
"""


def make_shop(home: Path) -> None:
    with sqlite3.connect(home / "shop.db") as db:
        for table in ("orders", "lines"):
            db.execute(f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, name TEXT, amount DECIMAL(10, 2))")
            db.executemany(f"INSERT INTO {table} VALUES (?, 'x', 1.5)", ((n,) for n in range(5_000)))
    write_job(home, JOB)


def test_the_plan_of_a_run_is_that_of_plan(tmp_path: Path) -> None:
    """Text and JSON; later the same, though the job file is another one, and the targets are not new any more."""
    env = {"SHOP_PASSWORD": SECRET}
    make_shop(tmp_path)
    foretold = seatunnel(tmp_path, "plan", "job.conf", env=env)
    as_json = seatunnel(tmp_path, "plan", "job.conf", "--json", env=env)
    assert foretold.code == 0 and "create table" in foretold.out.lower()
    none = seatunnel(tmp_path, "jobs", "show", "shop-1", "--plan")
    assert none.code == 1 and "there is no job 'shop-1'" in none.err

    first = start(tmp_path, "run", "job.conf", "--job-id", "shop-1", env=env, program=IN_PROCESS)
    decided = tmp_path / ".seatunnel/jobs/shop-1/setups.jsonl"
    wait_alive(first, "both tables to begin", lambda: decided.exists() and len(decided.read_text().splitlines()) == 2)
    kill9(first.pid)
    first.communicate()
    (tmp_path / "job.conf").write_text("env {}")
    assert seatunnel(tmp_path, "jobs", "show", "shop-1", "--plan").out == foretold.out
    shown = seatunnel(tmp_path, "jobs", "show", "shop-1", "--plan", "--json")
    assert json.loads(shown.out) == json.loads(as_json.out)

    write_job(tmp_path, JOB)
    words = ("run", "job.conf", "--job-id", "shop-1", "--restore", "latest")
    assert finish(start(tmp_path, *words, env=env, program=IN_PROCESS)).code == 0
    again = json.loads(seatunnel(tmp_path, "jobs", "show", "shop-1", "--plan", "--json").out)
    assert again == json.loads(as_json.out), "the decisions of checkpoint 0 hold for each driver"
    for path in (tmp_path / ".seatunnel").rglob("*"):
        assert not path.is_file() or SECRET.encode() not in path.read_bytes(), path


def test_a_job_without_a_stored_plan_says_so(tmp_path: Path) -> None:
    make_shop(tmp_path)
    env = {"SHOP_PASSWORD": SECRET}
    words = ("run", "job.conf", "--job-id", "shop-1", "--only", "lines")
    assert finish(start(tmp_path, *words, env=env, program=IN_PROCESS)).code == 0
    plan = json.loads(seatunnel(tmp_path, "jobs", "show", "shop-1", "--plan", "--json").out)
    assert {sink["table"] for one in plan["pipelines"] for sink in one["sinks"]} == {"main.lines"}
    (tmp_path / ".seatunnel/jobs/shop-1/run_plan.json").unlink()
    none = seatunnel(tmp_path, "jobs", "show", "shop-1", "--plan")
    assert (
        none.code == 1 and "no plan of the job 'shop-1' is stored here" in none.err and "seatunnel plan JOB" in none.err
    )
