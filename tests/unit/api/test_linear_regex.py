"""Regular expressions of job files take no time without end (P4-F10)."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

import pytest

from seatunnel_connectors.jdbc.factory import JdbcSourceFactory
from seatunnel_py import app
from seatunnel_py.api import SourceTable, StepContext
from seatunnel_py.api.text.java_regex import NamePattern
from seatunnel_py.api.text.linear_regex import is_explosive
from seatunnel_py.errors import PlanError

HOSTILE = ["(a+)+$", "(a*)*$", "(a|aa)+$", "([a-z]+)*$", r"(\w+\s?)*$", "(a+){20}$", "((a+)b?)+$", "(.*)*x"]
HARMLESS = [
    r"shop\.(orders|users)", r"db\..*", r"(\w+\.)+\w+", "(,[0-9]+)*", "a+b+", ".*a.*b", "(ab)+", "(foo|bar)+", "x{3}",
    "([a-z]+_)*[a-z]+", "[a-z]+", "(?i)shop.*", r"(?:\d{4}-)+",
]  # fmt: skip


@pytest.mark.parametrize("pattern", HOSTILE)
def test_a_hostile_pattern_ends_in_time(pattern: str) -> None:
    assert is_explosive(pattern)
    assert NamePattern(r"(x+)+").fullmatch("x")  # what is imported for it is not counted
    began = time.monotonic()
    assert not NamePattern(pattern).fullmatch("a" * 40 + "!")
    assert time.monotonic() - began < 2
    assert pattern == "(.*)*x" or NamePattern(pattern).fullmatch("a" * 40)


@pytest.mark.parametrize("pattern", HARMLESS)
def test_a_harmless_pattern_is_pythons(pattern: str) -> None:
    assert not is_explosive(pattern)


@pytest.mark.parametrize("pattern", [r"\w+", r"(\w+)+", r"([\w]+\s?)+"])
def test_a_word_holds_ascii_letters_only_in_both_engines(pattern: str) -> None:
    """As in Java."""
    assert NamePattern(pattern).fullmatch("Region")
    assert not NamePattern(pattern).fullmatch("Région")
    assert not NamePattern(r"(\d+)+").fullmatch("x1")


@pytest.mark.parametrize("pattern", [r"(a+)+(?=b)b", r"(a+)+\b", r"((a+)+)\1"])
def test_what_no_engine_can_do_in_time_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="time without end"):
        NamePattern(pattern)


def test_what_is_no_pattern_is_said() -> None:
    with pytest.raises(ValueError, match="is not a regular expression"):
        NamePattern("(")


HOSTILE_NAME = "a" * 40 + "!"


def test_names_of_files_and_tables_hang_no_job(tmp_path: Path) -> None:
    """P4-F10: `file_filter_pattern` and `table_match_regex` over names that somebody else has given."""
    (tmp_path / f"{HOSTILE_NAME}.csv").write_text("1\n")
    (tmp_path / "aaa.csv").write_text("2\n")
    columns = "schema { fields { id = int } }"
    (tmp_path / "job.conf").write_text(
        f"""source {{
          LocalFile {{ plugin_output = files, path = "{tmp_path}", file_format_type = csv, {columns}
                       file_filter_pattern = "(a+)+[.]csv" }}
          FakeSource {{ plugin_output = fake, schema {{ table = "db.{HOSTILE_NAME}", fields {{ id = int }} }} }}
        }}
        transform {{ Filter {{ plugin_input = fake, plugin_output = kept, include_fields = [id],
                              table_match_regex = "db[.](a+)+" }} }}
        sink {{ Console {{ plugin_input = [files, kept] }} }}"""
    )
    began = time.monotonic()
    plan = app.plan(tmp_path / "job.conf")
    assert time.monotonic() - began < 15
    assert len(plan.pipelines) == 2


def test_names_of_tables_in_a_database_hang_no_source(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "x.db") as db:
        db.execute(f'CREATE TABLE "{HOSTILE_NAME}" (id INTEGER)')
        db.execute("CREATE TABLE aaa (id INTEGER)")
    options = {"url": f"jdbc:sqlite:{tmp_path}/x.db", "use_regex": True, "table_path": "(a+)+$"}
    factory = JdbcSourceFactory()
    made = factory.create(factory.options.model_validate(options, context={"job_file": True}), StepContext("s"))  # type: ignore[arg-type]
    began = time.monotonic()
    assert [table.schema.path.table for table in made.tables() if isinstance(table, SourceTable)] == ["aaa"]
    assert time.monotonic() - began < 15


@pytest.mark.parametrize(
    ("transform", "told"),
    [
        ('RegexExtract { source_field = v, regex_pattern = "(a+)+$", output_fields = [g] }', "time without end"),
        ('Replace { replace_field = v, pattern = "(a+)+(?!b)", replacement = x, is_regex = true }', "time without end"),
        ('Replace { replace_field = v, pattern = "(a+)+$", replacement = x, is_regex = true }', ""),
    ],
)
def test_patterns_over_data_run_in_time_or_are_refused(tmp_path: Path, transform: str, told: str) -> None:
    (tmp_path / "job.conf").write_text(
        f"source {{ FakeSource {{ schema {{ fields {{ v = string }} }} }} }}\ntransform {{ {transform} }}\nsink {{ Console {{}} }}\n"
    )
    if not told:
        app.plan(tmp_path / "job.conf")
        return
    with pytest.raises(PlanError, match=told):
        app.plan(tmp_path / "job.conf")
