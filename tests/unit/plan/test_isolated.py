"""Tables that cannot be planned: which fail alone, which take others along, and when the job file is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from seatunnel_py import app
from seatunnel_py.errors import ExitCode, PlanError, TablesFailedError
from seatunnel_py.runtime.observe.receipt import Receipt
from seatunnel_py.runtime.storage.home import Home

FAKE = """FakeSource { plugin_output = many, tables_configs = [
  { row.num = 2, schema { table = "s.a", fields { id = int, v = string } } }
  { row.num = 3, schema { table = "s.b", fields { id = int } } }
  { row.num = 4, schema { table = "s.c", fields { id = int, v = string } } }
] }"""


def planned(home: Path, text: str) -> app.JobPlan:
    (home / "job.conf").write_text(text)
    return app.plan(home / "job.conf")


def left(plan: app.JobPlan) -> tuple[set[str], dict[str, str]]:
    """The tables that run, and why others do not."""
    running = {str(path) for pipeline in plan.pipelines for path in pipeline.tables}
    return running, {str(one.table): one.message for one in plan.isolated}


def run(home: Path) -> Receipt:
    options = app.RunOptions({}, job_id="job", local=True)
    return app.run(home / "job.conf", options, Home(home / "home"), lambda event: None, lambda driver: None)


def test_a_table_that_a_step_does_not_take_fails_alone(tmp_path: Path) -> None:
    job = f"source {{ {FAKE} }}\ntransform {{ Filter {{ plugin_input = many, plugin_output = some, include_fields = [v] }} }}"
    plan = planned(tmp_path, f"{job}\nsink {{ Console {{ plugin_input = some }} }}")

    running, causes = left(plan)

    assert running == {"s.a", "s.c"} and causes.keys() == {"s.b"}
    receipt = run(tmp_path)
    assert receipt.exit_code == ExitCode.SOME_TABLES_FAILED
    assert {table.table: table.state.value for table in receipt.tables} == {
        "s.a": "DONE",
        "s.c": "DONE",
        "s.b": "ISOLATED",
    }


def test_a_step_that_takes_none_of_its_tables_is_wrong_in_the_job_file(tmp_path: Path) -> None:
    job = f"source {{ {FAKE} }}\ntransform {{ Filter {{ plugin_input = many, plugin_output = some, include_fields = [x] }} }}"
    with pytest.raises(PlanError) as raised:
        planned(tmp_path, f"{job}\nsink {{ Console {{ plugin_input = some }} }}")
    assert not isinstance(raised.value, TablesFailedError)
    assert len(raised.value.problems) == 3

    only_b = 'table_match_regex = "s.b", include_fields = [v]'
    job = f"source {{ {FAKE} }}\ntransform {{ Filter {{ plugin_input = many, plugin_output = some, {only_b} }} }}"
    with pytest.raises(PlanError, match=r"s\.b"):
        planned(tmp_path, f"{job}\nsink {{ Console {{ plugin_input = some }} }}")


def test_a_table_goes_into_none_of_its_sinks_where_a_step_refuses_it(tmp_path: Path) -> None:
    """A fan-out is one pipeline: the table is what fails."""
    job = f"source {{ {FAKE} }}\ntransform {{ Filter {{ plugin_input = many, plugin_output = some, include_fields = [v] }} }}"
    plan = planned(tmp_path, f"{job}\nsink {{ Console {{ plugin_input = some }}\n Console {{ plugin_input = many }} }}")

    running, causes = left(plan)

    assert running == {"s.a", "s.c"} and causes.keys() == {"s.b"}


def broken(home: Path) -> str:
    """A source of one table that reads a file, and another that cannot be read."""
    (home / "good.json").write_text('{"id": 1}\n')
    (home / "bad.parquet").write_bytes(b"PAR1 nothing PAR1")
    return f"""LocalFile {{ plugin_output = files, tables_configs = [
      {{ path = "{home}/good.json", file_format_type = json, schema {{ table = "good", fields {{ id = int }} }} }}
      {{ path = "{home}/bad.parquet", file_format_type = parquet, schema {{ table = "bad" }} }}
    ] }}"""


def test_a_file_that_cannot_be_read_fails_its_table_alone(tmp_path: Path) -> None:
    planned(tmp_path, f"source {{ {broken(tmp_path)} }}\nsink {{ Console {{}} }}")

    receipt = run(tmp_path)

    assert receipt.exit_code == ExitCode.SOME_TABLES_FAILED
    assert {table.table: table.state.value for table in receipt.tables} == {"good": "DONE", "bad": "ISOLATED"}
    (cause,) = (table.cause for table in receipt.tables if table.cause is not None)
    assert "cannot be read as Parquet" in cause.message


def test_what_shares_a_sink_that_decides_over_all_tables_fails_together(tmp_path: Path) -> None:
    rules = "rules { row_rules = [ { rule_type = MIN_ROW, rule_value = 1 } ] }"
    with pytest.raises(TablesFailedError, match="decides over all tables together"):
        planned(tmp_path, f"source {{ {broken(tmp_path)} }}\nsink {{ Assert {{ {rules} }} }}")


def test_a_path_that_does_not_exist_is_wrong_in_the_job_file(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="there is no file or directory") as raised:
        planned(
            tmp_path,
            f'source {{ LocalFile {{ path = "{tmp_path}/none", file_format_type = text }} }}\nsink {{ Console {{}} }}',
        )
    assert not isinstance(raised.value, TablesFailedError)
