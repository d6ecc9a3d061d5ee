"""`jobs explain --json`: the same cause as data that the sentences name, of a real target that is locked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from e2e.conftest import Databases
from e2e.support import IN_PROCESS, finish, kill9, seatunnel, start, wait_alive, write_job


def job(home: Path, databases: Databases) -> str:
    return f"""
        env {{ parallelism = 1, unit.rows = 50, channel.capacity = 3, checkpoint.interval = 500 }}
        source {{ FakeSource {{ plugin_output = made, row.num = 5000, split.num = 100,
                    schema {{ fields {{ id = bigint, name = string }} }} }} }}
        sink {{
          Jdbc {{ plugin_input = made, {databases.jdbc(databases.target)}, generate_sink_sql = true,
                  database = {databases.target}, table = "public.slow" }}
          LocalFile {{ plugin_input = made, path = "{home}/out", file_format_type = json }}
        }}"""


def explained(home: Path) -> dict[str, Any]:
    said = seatunnel(home, "jobs", "explain", "job", "--json")
    assert said.code == 0, said.err
    (table,) = json.loads(said.out)["tables"]
    found: dict[str, Any] = table
    return found


def test_a_locked_target_is_the_root_of_those_that_wait(tmp_path: Path, databases: Databases) -> None:
    with databases.connect(databases.target) as setting:
        setting.execute("CREATE TABLE slow (id bigint, name text)")
    write_job(tmp_path, job(tmp_path, databases))
    with databases.connect(databases.target) as holder, holder.transaction():
        holder.execute("LOCK TABLE slow IN SHARE MODE")
        run = start(tmp_path, "run", "job.conf", "--job-id", "job", program=IN_PROCESS)

        def stuck() -> dict[str, Any] | None:
            found = explained(tmp_path)
            full = [one for one in found["subtasks"] if one["doing"] == "output_full"]
            return found if full and found["blocked"] else None

        wait_alive(run, "the job to start", (tmp_path / ".seatunnel/jobs/job/run_plan.json").exists)
        found = wait_alive(run, "the source to wait for room", stuck)
        text = seatunnel(tmp_path, "jobs", "explain", "job").out
        shown = json.loads(seatunnel(tmp_path, "jobs", "show", "job", "--json").out)["standing"]

    facts = {one["subtask"]: one for one in found["subtasks"]}
    (source,) = [one for one in facts.values() if one["doing"] == "output_full"]
    awaited = {one["subtask"] for one in source["waits_for"]}
    (root,) = awaited
    assert root.startswith("Jdbc") and source["seconds"] >= 0
    assert facts[root]["doing"] == "running" and facts[root]["unit"] > 0
    assert source["subtask"] in facts[root]["waiters"]
    assert source["waits_for"][0]["channel"]
    order = [one["subtask"] for one in found["subtasks"]]
    assert order.index(root) < order.index(source["subtask"]), "causes first"
    for name in facts:
        assert any(sentence.startswith(f"{name} ") for sentence in found["waits"]), f"{name} has no sentence"
    assert any("for a lock that session" in line for line in found["blocked"]), found["blocked"]
    for pending in found["checkpoints"]:
        assert any(sentence.startswith(f"checkpoint {pending['checkpoint']} ") for sentence in found["waits"])
    assert f"{source['subtask']} cannot emit" in text and root in text
    assert shown[0].keys() == found.keys(), "`jobs show --json` has the same facts"

    assert finish(run).code == 0
    ended = seatunnel(tmp_path, "jobs", "explain", "job")
    assert ended.code == 1 and "has ended: SUCCESS: nothing of it waits" in ended.err


def test_a_killed_driver_explains_nothing(tmp_path: Path, databases: Databases) -> None:
    write_job(
        tmp_path, job(tmp_path, databases).replace("unit.rows = 50", "unit.rows = 50, read_limit.rows_per_second = 100")
    )
    run = start(tmp_path, "run", "job.conf", "--job-id", "job", program=IN_PROCESS)
    wait_alive(run, "the job to start", (tmp_path / ".seatunnel/jobs/job/run_plan.json").exists)
    kill9(run.pid)
    run.communicate()
    dead = seatunnel(tmp_path, "jobs", "explain", "job")
    assert dead.code == 1 and "its driver was killed before it ended" in dead.err
    wrong = seatunnel(tmp_path, "jobs", "explain", "jop")
    assert wrong.code == 1 and "did you mean 'job'?" in wrong.err
