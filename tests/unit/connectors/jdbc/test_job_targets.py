"""What the sinks of a job tell one another lives as long as the job, and no other job in the process sees it."""

from __future__ import annotations

import pickle
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from seatunnel_connectors.jdbc.target.job_targets import JobTargets
from seatunnel_py.api import Column, JobRegistry, Setup, Sink, StepContext, TablePath, TableSchema
from seatunnel_py.api.types import BIGINT
from seatunnel_py.config.job_file import loads
from seatunnel_py.plan.plugins.installed import installed
from seatunnel_py.plan.plugins.plugin_calls import sink_of
from seatunnel_py.plan.steps import Job, understand

JOB = """env {{ job.name = "same" }}
source {{ FakeSource {{ schema = {{ fields {{ id = bigint }} }} }} }}
sink {{ Jdbc {{ url = "jdbc:sqlite:{path}", driver = "org.sqlite.JDBC", generate_sink_sql = true, database = "main", table = "t",
               schema_save_mode = "RECREATE_SCHEMA" }} }}"""


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "target.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (id bigint)")
    yield path


def job(path: Path) -> Job:
    return understand(loads(JOB.format(path=path)), installed())


def sink(job: Job, upstream: str) -> Sink:
    step = job.steps[-1]
    table = TableSchema(TablePath.parse(upstream), (Column("id", BIGINT),))
    return sink_of(step, step.options, table, job)[0]


def actions(setup: Setup) -> list[str]:
    return [effect.action for effect in setup.effects]


def test_sinks_of_one_job_know_that_a_sibling_made_the_target(path: Path) -> None:
    one = job(path)
    first, second = sink(one, "a"), sink(one, "b")
    first.setup(first.plan_setup())

    assert actions(second.plan_setup()) == []


def test_two_jobs_in_one_process_do_not_see_each_other(path: Path) -> None:
    """Of the same name and id: each makes the target itself."""
    first, second = sink(job(path), "a"), sink(job(path), "b")
    first.setup(first.plan_setup())

    assert {"drop table", "create table"} <= set(actions(second.plan_setup()))


def test_a_registry_makes_one_object_of_a_class_for_each_job() -> None:
    here, there = StepContext("a").registry, StepContext("a").registry

    assert here.get(JobTargets) is here.get(JobTargets) is not there.get(JobTargets)


def test_a_worker_gets_nothing_of_it() -> None:
    registry = JobRegistry()
    registry.get(JobTargets).mark_prepared("place", "a", "1")

    assert not pickle.loads(pickle.dumps(registry)).get(JobTargets).prepared_by_sibling("place", "b")
    assert not pickle.loads(pickle.dumps(registry.get(JobTargets))).prepared_by_sibling("place", "b")
