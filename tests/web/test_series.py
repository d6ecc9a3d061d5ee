"""Series of a run over HTTP: of a real driver, and of the files of checkpoints."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from seatunnel_py.control.store import series
from seatunnel_py.control.store.series import RowSample
from seatunnel_py.runtime.storage.home import Home
from tests.control.homes import claimed
from tests.web.running import Served, run_job, serving
from tests.web.test_writes import STREAM, define, noted, started, until

BEGIN = 1_700_000_000.0


def checkpoint(number: int, table: str = "shop.t", reason: str = "") -> list[dict[str, Any]]:
    """A checkpoint that takes as many tenths of a second as its number, and its commit a second later."""
    begin = BEGIN + number * 10
    about = {"pipeline": "p1", "checkpoint": number, "table": table, "kind": "periodic", "savepoint": "", "driver": 1}
    times = {"triggered": begin, "acknowledged": begin, "ended": begin + number / 10}
    more = {"slowest": "", "bytes": 1, "rows": 1, "reason": reason, "missing": []}
    commit = {"pipeline": "p1", "checkpoint": number, "committed": begin + number / 10 + 1}
    return [{**about, **times, **more}, *([] if reason else [commit])]


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("series")
    home = Home(folder / ".seatunnel")
    run_job(home, "old")
    place = home.place("old")
    lines = [line for number in range(1, 6) for line in checkpoint(number, reason="late" if number == 3 else "")]
    place.checkpoint_history.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    claimed(home.place("long"), "d")
    with serving(folder, home=home) as served:
        with served.context.database.writing() as connection:
            now = time.time()
            samples = [RowSample("long", now - 80_000 + at * 5, at * 100, at * 50) for at in range(15_000)]
            series.keep(connection, samples, now)
        yield served


def test_checkpoints_and_lags_come_from_the_files(own: Served) -> None:
    """Failed ones are none; a lag is the age of rows that become visible."""
    found = own.get("runs/old/series", metric="checkpoint_seconds").json()
    assert (found["unit"], found["table"]) == ("s", None)
    assert found["points"] == [[BEGIN + at * 10 + at / 10, at / 10] for at in (1, 2, 4, 5)]
    lags = own.get("runs/old/series", metric="lag").json()["points"]
    assert lags == [[BEGIN + 21.2, 11.2], [BEGIN + 41.4, 21.4], [BEGIN + 51.5, 11.5]]
    some = own.get("runs/old/series", metric="lag", **{"from": BEGIN + 40, "to": BEGIN + 45}).json()["points"]
    assert some == [[BEGIN + 41.4, 21.4]]
    assert own.get("runs/old/series", metric="lag", table="shop.events").json()["points"] == []


def test_a_day_is_two_thousand_points(own: Served) -> None:
    """Though it has fifteen thousand samples."""
    answer = own.get("runs/long/series", metric="rows_read")
    points = answer.json()["points"]

    assert 1_000 < len(points) <= 2_000 and {value for _, value in points} == {20.0}
    assert {value for _, value in own.get("runs/long/series", metric="rows_written").json()["points"]} == {10.0}


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ({}, 422),
        ({"metric": "rows"}, 422),
        ({"metric": "lag", "from": "x"}, 422),
        ({"metric": "lag", "from": 10, "to": 5}, 422),
        ({"metric": "lag", "from": "nan"}, 422),
        ({"metric": "lag", "table": "no.such"}, 404),
    ],
)
def test_a_series_that_does_not_exist_is_refused(own: Served, query: dict[str, Any], status: int) -> None:
    """U13: With the reason."""
    assert own.get("runs/old/series", **query).status_code == status
    assert own.get("runs/none/series", metric="lag").status_code == 404


def test_a_real_driver_has_rates(own: Served) -> None:
    """They are those of its rows, of the run and of a table."""
    define(own, "stream", STREAM)
    run = started(own, "stream")
    until(own, run, {"RUNNING"})
    end = time.monotonic() + 120
    while True:
        whole = own.get(f"runs/{run}/series", metric="rows_read").json()["points"]
        row = own.get(f"runs/{run}").json()
        table = {"table": "shop.s"} if row["counters"] else {}
        own_points = own.get(f"runs/{run}/series", metric="rows_read", **table).json()["points"] if table else []
        if len(whole) >= 3 and len(own_points) >= 2 and max(value for _, value in whole) > 0:
            break
        assert time.monotonic() < end, (whole, own_points, row)
        time.sleep(2)
    own.send("POST", f"runs/{run}/cancel", {})
    noted(own, run, "run.ended")
    assert all(value >= 0 for _, value in whole)
    assert {at for at, _ in own_points} <= {
        at for at, _ in own.get(f"runs/{run}/series", metric="rows_read").json()["points"]
    }
