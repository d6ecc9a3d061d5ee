"""A driver that dies while a table of MariaDB takes another's place: what the next one makes of what it finds."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pymysql
import pytest

from seatunnel_py.api import RetriableError
from seatunnel_py.api.process.failpoints import DIRECTORY_VARIABLE, VARIABLE
from seatunnel_py.api.process.resources import close_all
from tests.connectors.jdbc.conftest import MariadbPlace
from tests.connectors.jdbc.test_mysql_shadow import BEFORE, NEW, SCHEMA, THERE, Run, clean, rows, tables
from tests.servers.mariadb import MariadbServer

pytestmark = pytest.mark.mariadb

COMMIT = ("before", "commented", "renamed", "inside", "after", "dropped")


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[[str], None]]:
    """Arms a failpoint, which raises once."""

    def arm(point: str) -> None:
        (hits := tmp_path / point).mkdir()
        monkeypatch.setenv(VARIABLE, f"{point}:error")
        monkeypatch.setenv(DIRECTORY_VARIABLE, str(hits))

    yield arm


@pytest.mark.parametrize("moment", COMMIT)
@pytest.mark.parametrize("mode", ["emptied", "recreated", "made"])
def test_a_commit_that_breaks_off_is_finished_by_the_next_driver(
    maria: MariadbPlace, failing: Callable[[str], None], moment: str, mode: str
) -> None:
    """Wherever that was. The table is always there, with the old rows or all new ones."""
    comment = "what people read"
    maria.run(*(THERE if mode != "made" else ()))
    modes = {} if mode == "emptied" else {"schema_save_mode": "RECREATE_SCHEMA"}
    run = Run(maria, schema=replace(SCHEMA, comment=comment), **modes)
    pieces = run.pieces()
    failing(f"mysql.commit.{moment}")
    with pytest.raises(RetriableError, match="failpoint"):
        run.commit(1, *pieces)
    renamed = moment not in ("before", "commented")
    if mode != "made" or renamed:
        assert rows(maria) == (NEW if renamed else BEFORE)

    committed = run.recover(incarnation=2)
    run.commit(1, *pieces, incarnation=2)

    assert committed == (1 if moment in ("after", "dropped") else None)
    assert rows(maria) == NEW
    clean(maria, comment)


@pytest.mark.parametrize("moment", COMMIT)
def test_the_server_dies_with_the_driver(
    own: tuple[MariadbPlace, MariadbServer], failing: Callable[[str], None], moment: str
) -> None:
    """What was decided before is found again."""
    maria, server = own
    maria.run(*THERE)
    run = Run(maria)
    pieces = run.pieces()
    failing(f"mysql.commit.{moment}")
    with pytest.raises(RetriableError, match="failpoint"):
        run.commit(1, *pieces)
    close_all()
    maria.db.close()
    server.kill9()
    server.start()
    maria.db = connected(server)

    run.recover(incarnation=2)
    run.commit(1, *pieces, incarnation=2)

    assert rows(maria) == NEW
    clean(maria)


@pytest.fixture
def own() -> Iterator[tuple[MariadbPlace, MariadbServer]]:
    """A server that may be killed."""
    with MariadbServer.running(settings={"local_infile": "ON"}, durable=True) as server:
        place = MariadbPlace(connected(server), server.port)
        place.run("CREATE DATABASE a", "CREATE DATABASE b")
        yield place, server
        close_all()
        place.db.close()


def connected(server: MariadbServer) -> Any:
    return pymysql.connect(**server.connection(), autocommit=True, charset="utf8mb4")


def test_what_a_checkpoint_names_is_not_dropped(maria: MariadbPlace, failing: Callable[[str], None]) -> None:
    """I33: who gives up behind the renaming has given up nothing."""
    maria.run(*THERE)
    run = Run(maria)
    pieces = run.pieces()
    failing("mysql.commit.renamed")
    with pytest.raises(RetriableError, match="failpoint"):
        run.commit(1, *pieces)

    run.sink.committer().abort(pieces, run.context(1, final=True))

    assert rows(maria) == NEW and f"{run.shadow}_old" in tables(maria)


def test_what_runs_have_left_is_swept_once_they_are_over(maria: MariadbPlace, failing: Callable[[str], None]) -> None:
    """And nothing of those that may go on. A mark that stays behind is nobody's word any longer."""
    maria.run(*THERE)
    given_up, waiting, unknown = (Run(maria) for _ in range(3))
    pieces = given_up.pieces()
    failing("mysql.commit.renamed")
    with pytest.raises(RetriableError, match="failpoint"):
        given_up.commit(1, *pieces)
    given_up.recover(incarnation=2)
    waiting.recover(incarnation=2)
    staged = Run(maria, recipe="staged", data_save_mode="APPEND_DATA")
    staged.recover(incarnation=2)
    maria.run(f"UPDATE b.seatunnel_ledger SET finished = 1 WHERE lineage IN ('{given_up.lineage}', '{staged.lineage}')")

    run = Run(maria)
    left = {name for name in tables(maria) if "__st_" in name}
    run.commit(1, *run.pieces())

    assert left == {waiting.shadow, unknown.shadow, run.shadow}
    assert tables(maria)["t"] == "what people read" and os.environ[VARIABLE]
