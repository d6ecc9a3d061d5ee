"""``seatunnel copy``: two addresses become a job file that says what was meant, and never holds a password."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest
from typer.testing import CliRunner

from seatunnel_py import app as jobs
from seatunnel_py.cli.commands.copy import PASSWORDS, CopyRequest, job_file
from seatunnel_py.cli.main import app
from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.plan.plugins.registry import PluginKind
from seatunnel_py.plan.steps import Job

RUNNER = CliRunner()


@pytest.fixture(autouse=True)
def no_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PASSWORDS.values():
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)


def understood(tmp_path: Path, asked: CopyRequest) -> Job:
    """The job as ``check`` reads it."""
    path = tmp_path / "job.conf"
    path.write_text(job_file(asked))
    return jobs.check(path, {})


def options(tmp_path: Path, asked: CopyRequest, kind: PluginKind) -> dict[str, object]:
    (step,) = understood(tmp_path, asked).of_kind(kind)
    return step.options.model_dump()


@pytest.mark.parametrize(
    ("address", "plugin", "url"),
    [
        ("postgresql://me@db:5433/shop?sslmode=require", "Jdbc", "postgresql://db:5433/shop?sslmode=require"),
        ("mysql://me:pw@db/shop", "Jdbc", "mysql://db/shop"),
        ("jdbc:mariadb://me@db/shop", "Jdbc", "jdbc:mariadb://db/shop"),
        ("sqlite:shop.db", "Jdbc", "jdbc:sqlite:shop.db"),
        ("sqlite:///shop.db", "Jdbc", "sqlite:///shop.db"),
        ("oracle+oracledb://me:pw@db/shop", "Jdbc", "oracle+oracledb://db/shop"),
    ],
)
def test_an_address_of_a_database_is_understood_without_who_gets_in(
    tmp_path: Path, address: str, plugin: str, url: str
) -> None:
    for kind, asked in (
        (PluginKind.SOURCE, CopyRequest(address, "out")),
        (PluginKind.SINK, CopyRequest("a.parquet", address)),
    ):
        (step,) = understood(tmp_path, asked).of_kind(kind)

        assert (step.plugin, step.options.model_dump()["url"]) == (plugin, url)
        assert step.options.model_dump()["username"] == ("me" if "me" in address else None)


def test_a_password_stays_out_of_the_file(tmp_path: Path) -> None:
    """S14: it is left where only this process and its children see it."""
    text = job_file(CopyRequest("postgresql://me:se%40cret@db/shop", "mysql://you@db/shop"))

    assert "cret" not in text and os.environ[PASSWORDS[PluginKind.SOURCE]] == "se@cret"
    assert f'password = "${{env:{PASSWORDS[PluginKind.SOURCE]}}}"' in text
    assert PASSWORDS[PluginKind.SINK] not in text  # nobody has given one


def test_a_password_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PASSWORDS[PluginKind.SINK], "x")

    text = job_file(CopyRequest("sqlite:shop.db", "postgresql://me@db/shop"))

    assert f'password = "${{env:{PASSWORDS[PluginKind.SINK]}}}"' in text


def test_credentials_among_parameters_are_refused() -> None:
    with pytest.raises(SeaTunnelError, match="credentials among its parameters") as caught:
        job_file(CopyRequest("jdbc:postgresql://db/shop?user=me&password=geheim", "out"))

    assert "geheim" not in str(caught.value)


@pytest.mark.parametrize("password", ["ge/heim", "ge#heim", "ge?heim"])
def test_a_password_that_tears_its_address_is_not_taken_for_a_part_of_it(password: str) -> None:
    """S14: it would stand in the job's name, and everywhere."""
    with pytest.raises(SeaTunnelError, match="holds one of / [?] #") as caught:
        job_file(CopyRequest(f"postgresql://me:{password}@db/shop", "out"))

    assert "heim" not in str(caught.value)
    assert "heim" not in job_file(CopyRequest("postgresql://me:ge%2Fheim@db/shop", "out"))


@pytest.mark.parametrize(
    ("tables", "wanted"),
    [
        ((), {"table_path": ".*", "use_regex": True}),
        (("public.orders",), {"table_path": "public.orders", "use_regex": False}),
        (("public.o*", "a"), {"table_path": "(?:.*[.])?(public[.]o.*|a)", "use_regex": True}),
    ],
)
def test_tables_are_chosen_by_name(tmp_path: Path, tables: tuple[str, ...], wanted: dict[str, object]) -> None:
    given = options(tmp_path, CopyRequest("postgresql://db/shop", "out", tables), PluginKind.SOURCE)

    assert {name: given[name] for name in wanted} == wanted


def test_several_names_are_a_list(tmp_path: Path) -> None:
    given = options(tmp_path, CopyRequest("postgresql://db/shop", "out", ("a.b", "c.d")), PluginKind.SOURCE)

    assert [entry["table_path"] for entry in given["table_list"]] == ["a.b", "c.d"]  # type: ignore[attr-defined]


def test_files_go_into_a_folder_for_each_table(tmp_path: Path) -> None:
    given = options(tmp_path, CopyRequest("sqlite:a.db", "out/", format="csv", replace=True), PluginKind.SINK)

    assert given["path"] == "out/${table_name}"
    assert (given["file_format_type"], given["enable_header_write"], given["data_save_mode"]) == (
        "csv",
        True,
        "DROP_DATA",
    )


def test_a_topic_has_an_address(tmp_path: Path) -> None:
    asked = CopyRequest("kafka://a:9092,b:9092/orders", "kafka://c:9092/copies")

    assert options(tmp_path, asked, PluginKind.SOURCE)["bootstrap_servers"] == "a:9092,b:9092"
    assert options(tmp_path, asked, PluginKind.SINK)["topic"] == "copies"


@pytest.mark.parametrize(
    ("source", "target", "said"),
    [
        ("foo:bar", "out", "no source understands the address 'foo:bar'"),
        ("sqlite:a.db", "foo:", "no sink understands the address 'foo:'"),
        ("data.bin", "out", "there is no file and no directory .data.bin."),
        ("data.json", "out", "need a schema"),
        ("kafka://broker", "out", "names a broker and a topic"),
        ("jdbc:oracl://x", "out", "the JDBC scheme 'oracl' is not known"),
    ],
)
def test_what_is_not_understood_is_said(source: str, target: str, said: str) -> None:
    with pytest.raises(SeaTunnelError, match=said):
        job_file(CopyRequest(source, target))


def test_a_path_that_is_not_there_is_no_unknown_format(tmp_path: Path) -> None:
    """A misspelt path was said to need --format."""
    (tmp_path / "there").mkdir()
    with pytest.raises(SeaTunnelError, match="there is no file and no directory"):
        job_file(CopyRequest(f"{tmp_path}/thre", "sqlite:x.db"))
    with pytest.raises(SeaTunnelError, match="give it with --format"):
        job_file(CopyRequest(f"{tmp_path}/there", "sqlite:x.db"))


def test_it_can_be_printed_or_written_instead_of_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    sqlite3.connect("shop.db").close()

    printed = RUNNER.invoke(app, ["copy", "sqlite:shop.db", "console:", "--to", "-"])
    written = RUNNER.invoke(app, ["copy", "sqlite:shop.db", "console:", "--to", "copy.conf"])

    assert (printed.exit_code, written.exit_code) == (0, 0)
    assert Path("copy.conf").read_text() == printed.output
    assert "next: seatunnel plan copy.conf" in written.output
    assert not Path(".seatunnel").exists()


def test_a_job_file_that_is_there_already_stays_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    sqlite3.connect("shop.db").close()
    Path("mine.conf").write_text("somebody's work")

    refused = RUNNER.invoke(app, ["copy", "sqlite:shop.db", "console:", "--to", "mine.conf"])

    assert "mine.conf is there already" in str(refused.exception)
    assert Path("mine.conf").read_text() == "somebody's work"
