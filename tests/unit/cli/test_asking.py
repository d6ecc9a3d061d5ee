"""``test-connection`` and ``discover``: of a job file or of a plugin with options; what is wrong is said, no secret is."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from typer.testing import CliRunner

from seatunnel_py.cli.main import app
from seatunnel_py.errors import JobFileError, SeaTunnelError

RUNNER = CliRunner()


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    with sqlite3.connect(tmp_path / "shop.db") as db:
        db.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, name TEXT NOT NULL)")
        db.execute("CREATE TABLE visits (page TEXT)")
        db.execute("INSERT INTO orders (name) VALUES ('a'), ('b')")
    return tmp_path / "shop.db"


def ask(*arguments: str) -> tuple[int, str]:
    ended = RUNNER.invoke(app, list(arguments))
    if ended.exception is not None and not isinstance(ended.exception, SystemExit):
        raise ended.exception
    return ended.exit_code, ended.output


def test_a_plugin_without_tables_shows_them_all(shop: Path) -> None:
    code, said = ask("discover", "jdbc", "-o", f"url=jdbc:sqlite:{shop}", "--json")

    assert code == 0
    tables = {table["table"].rpartition(".")[2]: table for table in json.loads(said)}
    assert set(tables) == {"orders", "visits"}
    assert tables["orders"]["key"] == ["id"]
    assert [(one["name"], one["type"], one["nullable"]) for one in tables["orders"]["columns"]] == [
        ("id", "bigint", False),
        ("name", "string", False),
    ]


def test_options_say_which_tables(shop: Path) -> None:
    code, said = ask("discover", "Jdbc", "-o", f"url=jdbc:sqlite:{shop}", "-o", "table_path=visits")

    assert code == 0 and "1 table\n" in said and "visits" in said and "orders" not in said


@pytest.mark.parametrize("name", ["visits", "main.v*", "*.visits", "VISITS"])
def test_tables_are_left_out_by_name_as_in_copy(shop: Path, name: str) -> None:
    code, said = ask("discover", "Jdbc", "-o", f"url=jdbc:sqlite:{shop}", "--exclude", name)

    left_out = "2 tables" not in said
    assert code == 0 and left_out == (name != "VISITS")
    assert "skipped: 1 (excluded)" in said or not left_out


def test_a_quote_that_stays_open_is_named(shop: Path) -> None:
    with pytest.raises(SeaTunnelError, match="--exclude: .*not closed"):
        ask("discover", "Jdbc", "-o", f"url=jdbc:sqlite:{shop}", "--exclude", '"visits')


def test_both_ends_of_a_job_are_asked(shop: Path) -> None:
    """Whoever has nobody to connect to says so; a file that the sink would make is no failure."""
    job = shop.with_name("job.conf")
    job.write_text(
        f"""source {{ Jdbc {{ url = "jdbc:sqlite:{shop}", table_path = orders, plugin_output = o }} }}
            sink {{ Jdbc {{ url = "jdbc:sqlite:{shop.parent}/new.db", generate_sink_sql = true, table = orders,
                            plugin_input = o }}
                    Console {{ plugin_input = o }} }}"""
    )
    code, said = ask("test-connection", str(job))

    first, second, third = said.splitlines()
    assert code == 0
    assert first.startswith("ok   source o: SQLite 3.") and "tables 2" in first
    assert "new.db (is made)" in second and third.endswith("nothing to connect to")
    assert not shop.with_name("new.db").exists(), "nothing is changed"


def test_who_does_not_answer_fails_alone(tmp_path: Path) -> None:
    job = tmp_path / "job.conf"
    job.write_text(
        f"""source {{ LocalFile {{ path = "{tmp_path}/none", file_format_type = csv }} }}
            sink {{ LocalFile {{ path = "{tmp_path}/out", file_format_type = csv }} }}"""
    )
    code, said = ask("test-connection", str(job), "--json")

    source, sink = json.loads(said)
    assert code == 1
    assert not source["good"] and "there is no file or directory" in source["message"] and source["remedy"]
    assert sink["good"] and "(is made)" in sink["found"]["directory"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["Jdb", "-o", "url=x"], "there is no source plugin 'Jdb'"),
        (["Jdbc", "-o", "urll=x"], "unknown option"),
        (["Jdbc", "-o", "swordfish"], "option 1 has no key or no ="),
        (["Jdbc", "-o", "url=jdbc:sqlite:x", "-o", "password=${env:NOT_THERE}"], "NOT_THERE"),
        (["none.conf"], "cannot be read"),
    ],
)
@pytest.mark.parametrize("command", ["discover", "test-connection"])
def test_wrong_questions_are_refused_before_anything_is_opened(command: str, arguments: list[str], said: str) -> None:
    with pytest.raises(JobFileError) as refused:
        ask(command, *arguments)

    assert any(said in problem.message for problem in refused.value.problems)
    assert "swordfish" not in str(refused.value), "it may be a secret"


def test_a_password_is_in_no_answer(shop: Path) -> None:
    code, said = ask(
        "test-connection",
        "Jdbc",
        "-o",
        "url=jdbc:postgresql://127.0.0.1:1/shop",
        "-o",
        "user=me",
        "-o",
        "password=swordfish",
    )

    assert code == 1 and "Connection refused" in said and "swordfish" not in said
