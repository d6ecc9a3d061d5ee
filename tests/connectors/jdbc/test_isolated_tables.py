"""Tables that cannot be described fail alone, in every dialect: the others arrive, and everybody is told (P1-C).

A table that the job file names and that does not exist stays an error of the job file.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psycopg
import pymysql
import pytest

from seatunnel_py import app
from seatunnel_py.api import FatalError, SourceTable, TableFailure
from seatunnel_py.cli.main import main
from seatunnel_py.errors import ExitCode, TablesFailedError
from seatunnel_py.runtime.observe.events import JobEvent
from seatunnel_py.runtime.observe.receipt import Receipt, TableState
from seatunnel_py.runtime.storage.home import Home
from tests.connectors.jdbc.conftest import MariadbPlace, PostgresPlace
from tests.connectors.jdbc.copying import make_source


def job_file(home: Path, source: str, sink: str, env: str = "") -> Path:
    path = home / "job.conf"
    path.write_text(f"env {{ {env} }}\nsource {{ {source} }}\nsink {{ {sink} }}\n")
    return path


def run(path: Path, restore: str | None = None, events: list[JobEvent] | None = None) -> Receipt:
    options = app.RunOptions({}, job_id="job", restore=restore, local=True)
    told = events if events is not None else []
    return app.run(path, options, Home(path.parent / "home"), told.append, lambda driver: None)


def states(receipt: Receipt) -> dict[str, str]:
    return {table.table.rpartition(".")[2]: table.state.value for table in receipt.tables}


def failures(found: Sequence[SourceTable | TableFailure]) -> dict[str, TableFailure]:
    return {one.path.table: one for one in found if isinstance(one, TableFailure)}


def printed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *words: str) -> tuple[int, Any]:
    """The exit code of a command, and the JSON that it prints."""
    monkeypatch.setattr("sys.argv", ["seatunnel", *words, "--json"])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0), json.loads(capsys.readouterr().out)


# ---------------------------------------------------------------- PostgreSQL


@pytest.fixture
def limited(pg: PostgresPlace) -> PostgresPlace:
    """Tables of which a user may read all but `secret`; `odd` has a type that cannot be read."""
    role = f"reader_{pg.url.rpartition('/')[2].partition('?')[0]}"
    pg.db.execute(
        "CREATE TABLE a.good (id int PRIMARY KEY, v text); INSERT INTO a.good VALUES (1, 'x'), (2, 'y');"
        "CREATE TABLE a.secret (id int PRIMARY KEY); INSERT INTO a.secret VALUES (7); CREATE TABLE a.empty ();"
        f"DROP ROLE IF EXISTS {role}; CREATE ROLE {role} LOGIN; GRANT USAGE ON SCHEMA a, b TO {role};"
        f"GRANT CREATE ON SCHEMA b TO {role}; GRANT SELECT ON a.good, a.empty TO {role}".encode()
    )
    return PostgresPlace(pg.db, pg.url)


def role_of(pg: PostgresPlace) -> str:
    return f"reader_{pg.url.rpartition('/')[2].partition('?')[0]}"


def postgres_job(home: Path, pg: PostgresPlace, pattern: str, env: str = "") -> Path:
    user = role_of(pg)
    return job_file(
        home,
        f'Jdbc {{ url = "{pg.url}", user = {user}, use_regex = true, table_path = "{pattern}" }}',
        f'Jdbc {{ url = "{pg.url}", user = {user}, generate_sink_sql = true, table = "b.${{table_name}}" }}',
        env,
    )


def test_a_table_without_the_privilege_fails_alone_in_postgresql(tmp_path: Path, limited: PostgresPlace) -> None:
    path = postgres_job(tmp_path, limited, r".*\\.a\\..*")

    receipt = run(path)

    assert receipt.exit_code == ExitCode.SOME_TABLES_FAILED
    assert states(receipt) == {"good": "DONE", "secret": "ISOLATED", "empty": "ISOLATED"}
    assert limited.rows("SELECT * FROM b.good ORDER BY 1") == [(1, "x"), (2, "y")]
    secret = next(table for table in receipt.tables if table.table.endswith("secret"))
    assert secret.cause is not None and secret.cause.message == "No SELECT privilege on a.secret."
    assert secret.cause.remedy == f'GRANT SELECT ON "a"."secret" TO "{role_of(limited)}";'


def test_a_table_that_was_isolated_is_read_by_the_next_restore(tmp_path: Path, limited: PostgresPlace) -> None:
    path = postgres_job(tmp_path, limited, r".*\\.a\\.(good|secret)")
    run(path)
    limited.db.execute(f"GRANT SELECT ON a.secret TO {role_of(limited)}; INSERT INTO a.good VALUES (3, 'z')".encode())

    receipt = run(path, app.LATEST)

    assert receipt.exit_code == ExitCode.SUCCESS
    assert limited.rows("SELECT * FROM b.secret") == [(7,)]
    assert limited.rows("SELECT * FROM b.good ORDER BY 1") == [(1, "x"), (2, "y")], "it was done, and is left as it is"


def test_where_a_table_stood_is_kept_while_it_cannot_be_planned(tmp_path: Path, limited: PostgresPlace) -> None:
    """It was copied, then the privilege went, then it came back: the rows are not written a second time."""
    limited.db.execute(f"GRANT SELECT ON a.secret TO {role_of(limited)}".encode())
    limited.db.execute("CREATE TABLE b.good (id int PRIMARY KEY, v text CHECK (v <> 'y'))")
    limited.db.execute(f"GRANT SELECT, INSERT, UPDATE ON b.good TO {role_of(limited)}".encode())
    limited.db.execute("ALTER TABLE a.secret DROP CONSTRAINT secret_pkey")  # appended: a second copy would show
    path = postgres_job(tmp_path, limited, r".*\\.a\\.(good|secret)", "job.retry.times = 0")
    assert states(run(path)) == {"good": "ISOLATED", "secret": "DONE"}

    limited.db.execute(f"REVOKE SELECT ON a.secret FROM {role_of(limited)}".encode())
    assert states(run(path, app.LATEST)) == {"good": "ISOLATED", "secret": "ISOLATED"}
    limited.db.execute(f"GRANT SELECT ON a.secret TO {role_of(limited)}".encode())
    limited.db.execute("ALTER TABLE b.good DROP CONSTRAINT good_v_check")
    receipt = run(path, app.LATEST)

    assert states(receipt) == {"good": "DONE", "secret": "DONE"}
    assert limited.rows("SELECT * FROM b.secret") == [(7,)]


def test_plan_and_discover_show_the_tables_that_would_be_isolated(
    tmp_path: Path, limited: PostgresPlace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(postgres_job(tmp_path, limited, r".*\\.a\\.(good|secret)"))

    code, plan = printed(capsys, monkeypatch, "plan", path)
    assert code == ExitCode.SOME_TABLES_FAILED
    assert [(one["table"].rpartition(".")[2], one["problem"]) for one in plan["isolated"]] == [
        ("secret", "No SELECT privilege on a.secret.")
    ]
    code, found = printed(capsys, monkeypatch, "discover", path)
    assert code == ExitCode.SOME_TABLES_FAILED
    assert {one["table"].rpartition(".")[2]: one.get("problem") for one in found} == {
        "good": None,
        "secret": "No SELECT privilege on a.secret.",
    }


def test_a_job_of_which_no_table_is_left_fails(tmp_path: Path, limited: PostgresPlace) -> None:
    path = postgres_job(tmp_path, limited, r".*\\.a\\.secret")

    with pytest.raises(TablesFailedError, match=r"No SELECT privilege on a\.secret\."):
        run(path)
    with pytest.raises(TablesFailedError):
        run(postgres_job(tmp_path, limited, r".*\\.a\\..*", "multi_table.failure_policy = FAIL_FAST"))


def test_a_name_that_does_not_exist_is_wrong_in_the_job_file(limited: PostgresPlace) -> None:
    with pytest.raises(FatalError, match=r"did you mean a\.good\?"):
        make_source(limited.source(table_list=[{"table_path": "a.good"}, {"table_path": "a.godo"}])).tables()


def test_a_query_without_the_privilege_fails_alone(limited: PostgresPlace) -> None:
    tables = [{"table_path": "a.good"}, {"table_path": "a.q", "query": "SELECT * FROM a.secret"}]
    options = {"url": limited.url, "username": role_of(limited), "table_list": tables}

    assert "permission denied" in failures(make_source(options).tables())["q"].message
    with pytest.raises(FatalError, match="does not exist"):
        make_source({**options, "table_list": [{"query": "SELECT nope FROM a.good"}]}).tables()


# ------------------------------------------------------------ MySQL, MariaDB


@pytest.mark.mariadb
def test_tables_fail_alone_in_mysql(tmp_path: Path, maria: MariadbPlace) -> None:
    maria.run(
        "CREATE TABLE a.good (id int PRIMARY KEY, v text)", "INSERT INTO a.good VALUES (1, 'x')",
        "CREATE TABLE a.secret (id int PRIMARY KEY)", "CREATE TABLE a.base (id int)",
        "CREATE VIEW a.hollow AS SELECT * FROM a.base", "DROP TABLE a.base",
        "CREATE OR REPLACE USER reader@'%' IDENTIFIED BY ''",
        "GRANT SELECT, SHOW VIEW ON a.good TO reader@'%'", "GRANT INSERT ON a.secret TO reader@'%'",
        "GRANT SELECT, SHOW VIEW ON a.hollow TO reader@'%'", "GRANT ALL ON b.* TO reader@'%'",
    )  # fmt: skip
    url = maria.connection("a")["url"]
    path = job_file(
        tmp_path,
        f'Jdbc {{ url = "{url}", user = reader, use_regex = true, kinds = "table,view", table_path = "a\\\\..*" }}',
        f'Jdbc {{ url = "{url}", user = reader, generate_sink_sql = true, database = b, table = "${{table_name}}" }}',
    )

    receipt = run(path)

    assert states(receipt) == {"good": "DONE", "secret": "ISOLATED", "hollow": "ISOLATED"}
    assert maria.rows("SELECT * FROM b.good") == [(1, "x")]
    causes = {table.table: table.cause for table in receipt.tables if table.cause is not None}
    assert causes["a.secret"].message == "No SELECT privilege on a.secret."
    assert causes["a.secret"].remedy == "GRANT SELECT ON `a`.`secret` TO 'reader'@'%';"
    assert "a.hollow" in causes["a.hollow"].message


# ---------------------------------------------------------------- SQLite, generic


def sqlite_file(home: Path) -> Path:
    path = home / "source.db"
    with sqlite3.connect(path) as db:
        db.executescript(
            "CREATE TABLE good (id INTEGER PRIMARY KEY, v TEXT); INSERT INTO good VALUES (1, 'x');"
            "CREATE TABLE odd (id INTEGER PRIMARY KEY, v STRING, w HSTORE);"
            "CREATE TABLE base (id INTEGER); CREATE VIEW hollow AS SELECT id FROM base; DROP TABLE base;"
        )
    return path


def test_a_view_without_its_table_fails_alone_in_sqlite(tmp_path: Path) -> None:
    """types.md: an SQLite column of the type STRING refused the whole job; it is read by its values now."""
    url = f"jdbc:sqlite:{sqlite_file(tmp_path)}"
    path = job_file(
        tmp_path,
        f'Jdbc {{ url = "{url}", use_regex = true, kinds = "table,view", table_path = ".*" }}',
        f'Jdbc {{ url = "jdbc:sqlite:{tmp_path}/target.db", generate_sink_sql = true, table = "${{table_name}}" }}',
    )

    receipt = run(path)

    assert states(receipt) == {"good": "DONE", "odd": "DONE", "hollow": "ISOLATED"}
    hollow = next(table for table in receipt.tables if table.table.endswith("hollow"))
    assert hollow.cause is not None and "no such table: main.base" in hollow.cause.message
    with sqlite3.connect(tmp_path / "target.db") as db:
        assert db.execute("SELECT * FROM good").fetchall() == [(1, "x")]


def test_a_column_of_an_unknown_type_fails_its_table_alone_in_other_databases(tmp_path: Path) -> None:
    options = {"url": f"sqlite:///{sqlite_file(tmp_path)}", "dialect": "sqlalchemy", "use_regex": True}

    found = make_source({**options, "table_path": ".*"}).tables()

    assert {one.schema.path.table for one in found if isinstance(one, SourceTable)} >= {"good"}
    assert failures(found).keys() <= {"odd", "hollow"}


def test_events_tell_of_isolated_tables(tmp_path: Path) -> None:
    events: list[JobEvent] = []
    url = f"jdbc:sqlite:{sqlite_file(tmp_path)}"
    path = job_file(
        tmp_path, f'Jdbc {{ url = "{url}", use_regex = true, kinds = "table,view", table_path = ".*" }}', "Console {}"
    )

    run(path, events=events)

    changed = [event for event in events if getattr(event, "state", None) is TableState.ISOLATED]
    assert sorted(getattr(event, "name", "") for event in changed) == ["main.hollow"]
    logged = (tmp_path / "home" / "jobs" / "job" / "events.jsonl").read_text()
    assert "no such table: main.base" in logged


# ---------------------------------------------------------------- locks


def test_plan_names_who_locks_a_target_and_waits_no_longer_than_seconds(
    tmp_path: Path, pg: PostgresPlace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """P1-C: `plan` against a locked table was silent for a minute."""
    pg.db.execute("CREATE TABLE a.t (id int PRIMARY KEY); CREATE TABLE b.t (id int PRIMARY KEY)")
    path = job_file(
        tmp_path,
        f'Jdbc {{ url = "{pg.url}", user = postgres, table_path = "a.t" }}',
        f'Jdbc {{ url = "{pg.url}", user = postgres, generate_sink_sql = true, table = "b.t" }}',
    )
    with psycopg.connect(pg.db.info.dsn, application_name="nightly vacuum") as other:
        other.execute("LOCK TABLE b.t IN ACCESS EXCLUSIVE MODE")
        began = time.monotonic()
        code, plan = printed(capsys, monkeypatch, "plan", str(path))
        seconds = time.monotonic() - began
        waiting = pg.rows("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
        problem = plan["pipelines"][0]["sinks"][0]["problem"]

        assert code == ExitCode.SOME_TABLES_FAILED
        assert f"a lock that session {other.info.backend_pid} holds: nightly vacuum of user postgres" in problem
        assert seconds < 15 and waiting == [(0,)]


def test_a_locked_source_keeps_no_other_table_and_no_plan_waiting(
    tmp_path: Path, pg: PostgresPlace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sizes are then estimated; a query, whose columns cannot be known, fails alone and names who holds the lock."""
    pg.db.execute("CREATE TABLE a.t (id int PRIMARY KEY, v text); CREATE TABLE a.free (id int PRIMARY KEY)")
    tables = '{ table_path = "a.t" }, { table_path = "a.free" }, { table_path = "a.q", query = "SELECT * FROM a.t" }'
    path = job_file(tmp_path, f'Jdbc {{ url = "{pg.url}", user = postgres, table_list = [{tables}] }}', "Console {}")
    with psycopg.connect(pg.db.info.dsn, application_name="nightly vacuum") as other:
        other.execute("LOCK TABLE a.t IN ACCESS EXCLUSIVE MODE")
        code, found = printed(capsys, monkeypatch, "discover", str(path))

    by_name = {one["table"].rpartition(".")[2]: one for one in found}
    assert code == ExitCode.SOME_TABLES_FAILED
    assert [column["name"] for column in by_name["t"]["columns"]] == ["id", "v"]
    assert "problem" not in by_name["free"]
    assert "lock timeout" in by_name["q"]["problem"] and "nightly vacuum of user postgres" in by_name["q"]["problem"]


@pytest.mark.mariadb
def test_plan_names_who_locks_a_target_in_mysql(
    tmp_path: Path, maria: MariadbPlace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    maria.run("CREATE TABLE a.t (id int PRIMARY KEY)", "CREATE TABLE b.t (id int PRIMARY KEY)")
    url = maria.connection("a")["url"]
    path = job_file(
        tmp_path,
        f'Jdbc {{ url = "{url}", user = root, table_path = "a.t" }}',
        f'Jdbc {{ url = "{url}", user = root, generate_sink_sql = true, database = b, table = "t" }}',
    )
    other: Any = pymysql.connect(host="127.0.0.1", port=maria.port, user="root")
    try:
        with other.cursor() as cursor:
            cursor.execute("LOCK TABLES b.t WRITE")
        began = time.monotonic()
        code, plan = printed(capsys, monkeypatch, "plan", str(path))
        seconds = time.monotonic() - began
    finally:
        other.close()

    assert seconds < 15
    assert code == ExitCode.SOME_TABLES_FAILED
    assert "lock" in plan["pipelines"][0]["sinks"][0]["problem"].lower()
