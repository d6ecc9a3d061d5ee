"""A set-up that drops or empties a table happens once: a driver that was overtaken may come to it after a newer one has
written rows (I34)."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from threading import Event, Thread, current_thread
from typing import Any

import pytest

from seatunnel_connectors.jdbc.mysql import target_dialect
from seatunnel_connectors.jdbc.mysql.connection.session import MysqlSession
from seatunnel_py import app
from seatunnel_py.api import PluginError, Setup
from seatunnel_py.plan.graph_nodes import SinkNode
from tests.connectors.jdbc.conftest import MariadbPlace, PostgresPlace
from tests.connectors.jdbc.test_target_names import job

DESTROYS = [{"data_save_mode": "DROP_DATA"}, {"schema_save_mode": "RECREATE_SCHEMA"}]


def sink_of(path: Path) -> SinkNode:
    """The sink as another driver of the job has it."""
    (node,) = [node for one in app.plan(path).pipelines for node in one.sinks]
    return node


def set_up(path: Path) -> Setup:
    """Set the target up as the driver does that goes on."""
    sink = sink_of(path).sink
    setup = sink.plan_setup()
    assert any(effect.destructive for effect in setup.effects)
    sink.setup(setup)
    return setup


@pytest.mark.parametrize("more", DESTROYS, ids=["emptied", "dropped"])
@pytest.mark.parametrize("once", [True, False], ids=["exactly once", "at least once"])
def test_rows_in_postgresql_stay(pg: PostgresPlace, tmp_path: Path, more: dict[str, Any], once: bool) -> None:
    pg.db.execute("CREATE TABLE a.t (id int PRIMARY KEY); INSERT INTO a.t VALUES (1)")
    pg.db.execute("CREATE TABLE b.t (id int PRIMARY KEY); INSERT INTO b.t VALUES (7)")
    path = job(tmp_path, pg.source(table_path="a.t"), ("Jdbc", pg.sink(table="b.t", is_exactly_once=once, **more)))
    setup = set_up(path)
    assert pg.rows("SELECT count(*) FROM b.t") == [(0,)]
    pg.db.execute("INSERT INTO b.t VALUES (1)")
    sink_of(path).sink.setup(setup)
    assert pg.rows("SELECT id FROM b.t") == [(1,)]
    another = sink_of(path).sink
    another.setup(another.plan_setup())
    assert pg.rows("SELECT count(*) FROM b.t") == [(0,)], "another run of the job has another set-up"


@pytest.mark.parametrize("more", DESTROYS, ids=["emptied", "dropped"])
@pytest.mark.parametrize("once", [True, False], ids=["exactly once", "at least once"])
def test_rows_in_mariadb_stay(maria: MariadbPlace, tmp_path: Path, more: dict[str, Any], once: bool) -> None:
    maria.run("CREATE TABLE a.t (id int PRIMARY KEY)", "INSERT INTO a.t VALUES (1)")
    maria.run("CREATE TABLE b.t (id int PRIMARY KEY)", "INSERT INTO b.t VALUES (7)")
    source = maria.source(table_path="a.t")
    path = job(tmp_path, source, ("Jdbc", maria.sink(table="b.t", is_exactly_once=once, **more)))
    setup = set_up(path)
    assert maria.rows("SELECT count(*) FROM b.t") == [(0,)]
    maria.run("INSERT INTO b.t VALUES (1)")
    sink_of(path).sink.setup(setup)
    assert maria.rows("SELECT id FROM b.t") == [(1,)]


@pytest.mark.parametrize("more", DESTROYS, ids=["emptied", "dropped"])
def test_rows_in_sqlite_stay(tmp_path: Path, more: dict[str, Any]) -> None:
    with closing(sqlite3.connect(tmp_path / "shop.db")) as db, db:
        db.execute("CREATE TABLE source (id INTEGER PRIMARY KEY)")
        db.execute("CREATE TABLE target (id INTEGER PRIMARY KEY)")
        db.execute("INSERT INTO target VALUES (7)")
    url = {"url": f"jdbc:sqlite:{tmp_path}/shop.db"}
    path = job(
        tmp_path,
        {**url, "table_path": "source"},
        ("Jdbc", {**url, "table": "target", "generate_sink_sql": True, **more}),
    )
    setup = set_up(path)
    with closing(sqlite3.connect(tmp_path / "shop.db")) as db, db:
        assert db.execute("SELECT count(*) FROM target").fetchall() == [(0,)]
        db.execute("INSERT INTO target VALUES (1)")
    sink_of(path).sink.setup(setup)
    with closing(sqlite3.connect(tmp_path / "shop.db")) as db:
        assert db.execute("SELECT id FROM target").fetchall() == [(1,)]


@pytest.mark.parametrize("more", DESTROYS, ids=["emptied", "dropped"])
def test_files_stay(tmp_path: Path, more: dict[str, Any]) -> None:
    target = tmp_path / "out"
    target.mkdir()
    (target / "old.json").write_text("{}\n")
    source = {"plugin_name": "FakeSource", "row.num": 1, "schema": {"table": "t", "fields": {"id": "int"}}}
    files = {"path": str(target), "file_format_type": "json", **more}
    path = job(tmp_path, source, ("LocalFile", files))
    setup = set_up(path)
    assert not list(target.glob("*.json"))
    (target / "new.json").write_text("{}\n")
    sink_of(path).sink.setup(setup)
    assert [one.name for one in target.glob("*.json")] == ["new.json"]


@pytest.mark.parametrize("more", DESTROYS, ids=["emptied", "dropped"])
def test_a_driver_that_stalls_before_it_destroys_loses_its_session(
    maria: MariadbPlace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: dict[str, Any]
) -> None:
    """I34: it has looked, and found that nothing was done. A newer driver sets up meanwhile, and writes rows."""
    monkeypatch.setattr(target_dialect, "STILL_SECONDS", 1)
    maria.run("CREATE TABLE a.t (id int PRIMARY KEY)", "INSERT INTO a.t VALUES (1)")
    maria.run("CREATE TABLE b.t (id int PRIMARY KEY)", "INSERT INTO b.t VALUES (7)")
    path = job(tmp_path, maria.source(table_path="a.t"), ("Jdbc", maria.sink(table="b.t", **more)))
    setup = sink_of(path).sink.plan_setup()
    stalled, goes_on = Event(), Event()
    run = MysqlSession.run

    def stalls(session: MysqlSession, sql: str, values: Any = ()) -> int:
        if current_thread().name == "older" and sql.startswith(("TRUNCATE", "DROP TABLE")) and not stalled.is_set():
            stalled.set()
            assert goes_on.wait(60)
        return run(session, sql, values)

    monkeypatch.setattr(MysqlSession, "run", stalls)
    ended: list[BaseException | None] = []
    older = Thread(target=lambda: ended.append(_error_of(sink_of(path).sink.setup, setup)), name="older")
    older.start()
    assert stalled.wait(60)
    sink_of(path).sink.setup(setup)
    maria.run("INSERT INTO b.t VALUES (1)")
    goes_on.set()
    older.join(60)
    assert maria.rows("SELECT id FROM b.t") == [(1,)]
    assert isinstance(ended[0], PluginError), "its session is gone"


def _error_of(call: Callable[[Setup], None], setup: Setup) -> BaseException | None:
    try:
        call(setup)
    except PluginError as error:
        return error
    return None
