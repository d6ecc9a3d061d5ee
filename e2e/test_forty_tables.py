"""Bar 5: tried as a new user would, with the words of `docs/guide.md` alone. A database of 40 tables is copied to three
targets, twice in a row, and from there to others; what arrives is compared value by value, and every sentence of plans,
receipts and `jobs` with what is so."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pymysql
import pytest

from e2e.forty_tables.checks import check_receipt, number
from e2e.forty_tables.jobs_text import listed
from e2e.forty_tables.plan_checks import check_plan, check_shown
from e2e.forty_tables.receipt import parsed
from e2e.forty_tables.trial import HERE, Run, Trial
from tests.servers.mariadb import MariadbServer
from tests.servers.ports import LOOPBACK
from tests.servers.postgres import PostgresServer

pytestmark = pytest.mark.timeout(900)  # the first test of each fixture waits for a dozen runs


@pytest.fixture(scope="module")
def trial(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trial]:
    """With the targets that the chosen tests look at; onward it goes from the copy in MariaDB."""
    chosen = [one for one in request.session.items if one.path == request.path]
    kinds = {one.callspec.params["target"] for one in chosen if hasattr(one, "callspec")}
    if any("onward" in getattr(one, "fixturenames", ()) for one in chosen):
        kinds.add("mariadb")
    home = tmp_path_factory.mktemp("user")
    with PostgresServer.running() as postgres, MariadbServer.running() as maria:
        with psycopg.connect(postgres.dsn, autocommit=True) as db:
            for statement in (
                "CREATE ROLE reader LOGIN",
                "CREATE DATABASE shop",
                "CREATE DATABASE copy",
                "CREATE DATABASE onward",
                "ALTER SYSTEM SET autovacuum = off",  # new statistics between a plan and its run are other words
                "SELECT pg_reload_conf()",
            ):
                db.execute(statement)
        with psycopg.connect(postgres.dsn_of("shop"), autocommit=True) as db:
            db.execute((HERE / "shop.sql").read_bytes())
            db.execute("ANALYZE")
        with pymysql.connect(**maria.connection()) as other, other.cursor() as cursor:
            cursor.execute("CREATE DATABASE copy CHARACTER SET utf8mb4")
        address = f"postgresql://reader@{LOOPBACK}:{postgres.port}/shop"
        found = Trial(home, postgres, maria, address, frozenset(kinds | {"postgres"}))
        found.live()
        yield found


@pytest.fixture(scope="module")
def onward(trial: Trial) -> dict[str, tuple[Run, Run]]:
    """The copy in MariaDB, and what was made of it in SQLite, as sources."""
    return trial.go_onward()


TARGETS = ["postgres", "mariadb", "files"]


@pytest.mark.parametrize("target", TARGETS)
def test_the_first_copy(trial: Trial, target: str) -> None:
    place = next(one for one in trial.places() if one.kind == target)
    check_receipt(place, trial.first[target])
    check_plan(place, trial.first[target])
    check_shown(place, trial.first[target])


@pytest.mark.parametrize("target", TARGETS)
def test_the_second_copy_behind_changes(trial: Trial, target: str) -> None:
    """Keys are updated; what a second run would double is refused with the ways on."""
    place = next(one for one in trial.places() if one.kind == target)
    check_receipt(place, trial.second[target])
    check_plan(place, trial.second[target])
    check_shown(place, trial.second[target])


@pytest.mark.parametrize("target", TARGETS)
def test_the_remedy_of_the_second_copy_leads_on(trial: Trial, target: str) -> None:
    """Afterwards the tables without a key, and all files, hold what the shop holds."""
    place = next(one for one in trial.places() if one.kind == target)
    check_receipt(place, trial.replaced[target], replaces=True)
    check_plan(place, trial.replaced[target], replaces=True)
    check_shown(place, trial.replaced[target])


def test_the_right_that_is_granted_lets_the_printed_command_finish_the_table(trial: Trial) -> None:
    ended, first = trial.finished["going on"], trial.first["postgres"]
    receipt = parsed(ended.out, set(first.source))
    secret = "shop.hr.secret_reviews"
    assert ended.code == 3 and receipt.lines["shop.public.no_columns"].state == "isolated"
    assert (receipt.lines[secret].state, receipt.lines[secret].written) == ("done", "1")
    others = first.source.keys() - {secret, "shop.public.no_columns"}
    assert {receipt.lines[name].state for name in others} == {"kept"} and receipt.kept == len(others)
    rows = sum(table.count for table in first.source.values())
    assert tuple(map(number, receipt.earlier)) == (1, rows + 1, rows)
    assert any(receipt.job_id in line and f"{rows + 1:,}" in line for line in trial.finished["list"].out.splitlines())


ONWARD = ["mariadb to sqlite", "mariadb to files", "sqlite to postgres", "sqlite to files"]


@pytest.mark.parametrize("way", ONWARD)
@pytest.mark.parametrize("time", [0, 1])
def test_the_copy_is_a_source_itself(trial: Trial, onward: dict[str, tuple[Run, Run]], way: str, time: int) -> None:
    """MariaDB and SQLite as sources, twice in a row."""
    place, run = trial.onward_places()[way], onward[way][time]
    check_receipt(place, run)
    check_plan(place, run)
    check_shown(place, run)


def test_the_list_has_every_job_in_a_line(trial: Trial) -> None:
    """Newest first, as their receipts have it."""
    runs = list(trial.first.values())
    lines = listed(trial.finished["list"].out)
    started = [cells[2] for cells in lines.values()]
    assert started == sorted(started, reverse=True) and lines.keys() == {run.receipt.job_id for run in runs}
    for run in runs[1:]:  # the first was gone on with
        rows, total = f"{run.json['totals']['rows_read']:,}", run.receipt.total.time
        _, state, _, took, read, this_run, name, file = lines[run.receipt.job_id]
        assert (state, took, read, this_run) == (run.json["state"], total, rows, rows)
        assert (name, file) == (run.receipt.job_name, run.shown.file)
