"""Queries checked without a JVM: what is wrong is found at its place in the job file."""

from __future__ import annotations

import subprocess
import sys

import pytest

from seatunnel_py.config.job_file import loads
from seatunnel_py.errors import Problem
from seatunnel_py.plan.plugins.installed import installed
from seatunnel_py.plan.plugins.registry import PluginEntry, PluginKind, Registry
from seatunnel_py.plan.sql.check import query_notes, query_problems
from seatunnel_py.plan.sql.parse import PEER, SPARK
from seatunnel_py.plan.steps import Step, understand
from seatunnel_py.spark.plugins.sql_transform import SqlTransformFactory

ONE = """
env {{ }}
source {{ FakeSource {{ plugin_output = "orders", schema {{ fields {{ id = int }} }} }} }}
transform {{
  Sql {{
    plugin_input = "orders"
    plugin_output = "out"
    query = {query}
  }}
}}
sink {{ Console {{ plugin_input = "out" }} }}
"""
OTHER = """FakeSource {{
    plugin_output = customers
    schema {{ fields {{ id = int }} }}
  }}"""
TWO = ONE.replace("source {{ ", f"source {{{{ {OTHER}\n  ")
TWO = TWO.replace('plugin_input = "orders"', "plugin_input = [orders, customers]")


def step(text: str, query: str) -> Step:
    entries = [entry for entry in installed().entries() if entry.name != "Sql"]
    sql = PluginEntry(PluginKind.TRANSFORM, "Sql", "seatunnel-py", factory=SqlTransformFactory)
    job = understand(loads(text.format(query=query)), Registry((*entries, sql)), [])
    return next(step for step in job.steps if step.plugin == "Sql")


def problem(text: str, query: str, dialect: str = PEER) -> Problem:
    (found,) = query_problems(step(text, query), dialect)
    return found


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ('"select a b c from orders"', "syntax error: "),
        ('"select \'a from orders"', "a quote or a comment is not closed"),
        ('"delete from orders"', "the query must be a SELECT, this is DELETE"),
        ('"select 1; select 2"', "the query has 2 statements"),
        ('"-- nothing"', "the query is empty"),
        ('"select (a from orders"', "syntax error: expecting )"),
    ],
)
def test_what_is_no_select(query: str, message: str) -> None:
    found = problem(ONE, query)

    assert message in found.message
    assert (found.line, found.path) == (8, "transform[0].Sql.query")


def test_the_place_is_that_in_the_job_file() -> None:
    """A query of many lines stands in the file as it is, so its lines are the file's."""
    found = problem(ONE, '"""\n      select id,\n             upper(name) as\n      from orders"""')

    assert (found.line, found.column) == (11, 12)
    assert str(found).startswith("job.conf:11:12: transform[0].Sql.query: syntax error")


@pytest.mark.parametrize("query", ['"select * from orders;"', '"select id from dual"', '"select id from whatever w"'])
def test_one_input_may_be_called_anything(query: str) -> None:
    assert query_problems(step(ONE, query), PEER) == ()


def test_another_name_is_noted() -> None:
    assert query_notes(step(ONE, '"select id from orders"'), PEER) == ()
    assert query_notes(step(ONE, '"select id from dual"'), PEER) == ()
    (note,) = query_notes(step(ONE, '"select id from order"'), PEER)

    assert "read as its only input, 'orders'" in note.message


def test_a_table_that_is_no_input() -> None:
    """Over several inputs a wrong name is an error with the nearest one."""
    found = problem(TWO, '"select * from order o join customers c on o.id = c.id"')

    assert found.message == "the query reads 'order', which is not one of its inputs (line 1, column 15 of the query)"
    assert (found.suggestion, found.remedy) == ("orders", "inputs of this step: orders, customers")


def test_own_names_of_the_query_are_no_tables() -> None:
    query = '"with big as (select * from orders where id > 9) select b.* from big b join customers c on b.id = c.id"'

    assert query_problems(step(TWO, query), PEER) == ()


def test_spark_has_the_last_word_on_its_own_dialect() -> None:
    """What this parser does not understand may be right; what is not closed is wrong in any dialect."""
    assert query_problems(step(ONE, '"FROM orders |> SELECT id |> DROP x |> SOMETHING new"'), SPARK) == ()
    assert problem(ONE, '"select (id from orders"', SPARK).message.startswith("a parenthesis is not closed")
    assert problem(ONE, '"delete from orders"', SPARK).message.startswith("the query must be a SELECT")


def test_no_jvm_and_no_pyspark() -> None:
    """Checking is quick because it starts nothing."""
    code = (
        "import sys; import seatunnel_py.spark.plugins.sql_transform, seatunnel_py.plan.sql.check; "
        "early = [m for m in ('pyspark', 'sqlglot', 'pyarrow') if m in sys.modules]; "
        "from seatunnel_py.plan.sql.parse import parse_query; parse_query('select 1', 'seatunnel'); "
        "print(early, 'pyspark' in sys.modules)"
    )

    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert shown.strip() == "[] False"
