"""The runs of a job that reads a binary log up to a place: what an enumerator keeps, and when it finds the next split."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from seatunnel_connectors.mysql_cdc import log_enumerator
from seatunnel_connectors.mysql_cdc.log_enumerator import ENDED, BinlogEnumerator
from seatunnel_connectors.mysql_cdc.log_split import BinlogPlace
from seatunnel_connectors.mysql_cdc.options import BinlogCdcOptions, BinlogStop
from seatunnel_connectors.mysql_cdc.reading.log_position import BinlogPosition
from seatunnel_connectors.mysql_cdc.source import stop_of
from seatunnel_py.api import FatalError, JobMode

OPTIONS = BinlogCdcOptions.model_validate({"url": "jdbc:mysql://h/shop", "table-names": ["shop.orders"]})
BEGIN, BOUND, LATER = (BinlogPosition("log.000009", offset) for offset in (4, 700, 900))
PLACE = BinlogPlace("server_id 7", BEGIN, {("shop", "orders"): BEGIN}, {}, BOUND)


class Server:
    """As much of an address as an enumerator looks at before it connects."""

    display = "h/shop"


def enumerator(state: Any, stop: BinlogStop = BinlogStop.LATEST) -> BinlogEnumerator:
    address: Any = Server()
    return BinlogEnumerator(address, OPTIONS, 7, (), stop, state)


@pytest.fixture
def no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """The log has grown up to ``LATER``."""

    @contextmanager
    def sessions(_: object) -> Iterator[None]:
        yield None

    monkeypatch.setattr(log_enumerator, "sessions", sessions)
    monkeypatch.setattr(log_enumerator, "require_log", lambda session, place: None)
    monkeypatch.setattr(log_enumerator, "end_of_log", lambda session: LATER)


def test_a_place_with_an_end_is_the_same_after_a_restart() -> None:
    assert BinlogPlace.of(json.loads(json.dumps(PLACE.split().payload))) == PLACE


def test_a_run_that_was_killed_keeps_its_end() -> None:
    """F-C19: the place is in the split, and is not looked up again."""
    restored = enumerator({"place": PLACE.to_plain(), "run": 1})
    assert restored.interval is None and list(restored.discover()) == []


@pytest.mark.usefixtures("no_server")
def test_a_run_that_has_ended_is_followed_by_one_that_begins_there() -> None:
    """F-C36: it begins at the place that was read, and not at the one that was asked for."""
    reached = BinlogPosition("log.000009", 750)
    restored = enumerator({"place": PLACE.to_plain(), "run": 1, ENDED: reached.to_plain()})
    assert restored.interval is not None, "it is asked at once"
    [split] = restored.discover()
    found = BinlogPlace.of(split.payload)
    assert split.id == "log~2" and (found.begin, found.bound) == (reached, LATER)
    assert found.starts == PLACE.starts
    assert restored.interval is None and list(restored.discover()) == []
    restored.on_reader_event(split, {ENDED: LATER.to_plain()})
    again: Any = restored.snapshot()
    assert (again["run"], again[ENDED]) == (2, LATER.to_plain())


@pytest.mark.usefixtures("no_server")
def test_a_stream_goes_on_from_the_last_run() -> None:
    restored = enumerator({"place": PLACE.to_plain(), "run": 3, ENDED: BOUND.to_plain()}, BinlogStop.NEVER)
    [split] = restored.discover()
    found = BinlogPlace.of(split.payload)
    assert split.id == "log~4" and (found.begin, found.bound) == (BOUND, None)


def test_a_log_without_an_end_cannot_get_one() -> None:
    with pytest.raises(FatalError, match="followed its log without an end"):
        enumerator("log")
    enumerator("log", BinlogStop.NEVER)


def test_a_batch_job_ends() -> None:
    assert stop_of(OPTIONS, JobMode.BATCH) is BinlogStop.LATEST
    assert stop_of(OPTIONS, JobMode.STREAMING) is BinlogStop.NEVER
    never = OPTIONS.model_copy(update={"stop": BinlogStop.NEVER})
    with pytest.raises(ValueError, match="leave it out, or set STREAMING"):
        stop_of(never, JobMode.BATCH)
