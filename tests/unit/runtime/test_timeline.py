"""Failures of a job, in order, with what followed: read off its log."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from seatunnel_py.cli.jobs.failure_view import timeline_text
from seatunnel_py.runtime.observe import failure_timeline
from seatunnel_py.runtime.observe.failure_timeline import Timeline, read

NOW = "2026-01-31T12:00:00.000+00:00"
WHERE = {"pipeline": "p", "table": "shop.orders", "vertex": "orders", "epoch": 1, "split": "s3", "checkpoint": 7}
CAUSE = {"cause": {"message": "no room\nDETAIL: long", "remedy": "make some", "trace": "…"}}


def line(event: str, **more: Any) -> dict[str, Any]:
    return {"time": NOW, "level": "WARNING", "event": event, "job": "j", "driver": 1, **more}


BEGAN = line("job_started", tables=["shop.orders"])
RETRIED = line("unit_retried", unit="orders#4.e0.a1", attempt=1, delay_seconds=0.4, **WHERE, **CAUSE)
GIVEN_UP = line("unit_given_up", unit="orders#4.e0.a3", attempt=3, position={"id": 500}, **WHERE, **CAUSE)
RESTARTED = line(
    "region_restarted", pipeline="p", table="shop.orders", epochs={"orders": 2}, checkpoint=7,
    causes={"orders": "no room"}, twice=["console"], lost=[],
)  # fmt: skip
ISOLATED = line("table_changed", pipeline="p", table="shop.orders", state="ISOLATED", **CAUSE)
ENDED = line("job_ended", state="FAILED")


def timeline(tmp_path: Path, lines: Iterable[Any], *, alive: bool = False, kept: int | None = 20) -> Timeline:
    path = tmp_path / "events.jsonl"
    path.write_text("".join(f"{one if isinstance(one, str) else json.dumps(one)}\n" for one in lines))
    return read(path, alive=alive, kept=kept)


def test_a_failure_says_where_it_was_and_what_followed(tmp_path: Path) -> None:
    """U2."""
    found = timeline(tmp_path, [BEGAN, RETRIED, GIVEN_UP, RESTARTED, GIVEN_UP, ISOLATED, ENDED])
    tried, given_up, last = found.failures

    assert (tried.attempt, tried.follows) == (1, "tried again after 0.4 s, attempt 2")
    assert (given_up.vertex, given_up.split, given_up.position, given_up.checkpoint) == ("orders", "s3", {"id": 500}, 7)
    assert given_up.cause == "no room", "one line"
    assert given_up.follows.startswith("restarted orders (life 2) from checkpoint 7, because orders failed")
    assert "console may show rows twice" in given_up.follows
    assert "isolated" in last.follows
    assert found.counts["shop.orders"] == {"failed attempts": 3, "restarts": 1}


def test_a_sink_that_was_left_out_is_told_once(tmp_path: Path) -> None:
    """With its unit; that its table is ISOLATED in the end for the same cause says nothing more."""
    gone = line("sink_left_out", pipeline="p", table="shop.orders", vertex="orders", targets=["lake"], **CAUSE)

    found = timeline(tmp_path, [BEGAN, GIVEN_UP, gone, ISOLATED, ENDED])
    (given_up,) = found.failures
    assert given_up.follows == "the sink into lake was isolated, the others go on"
    assert found.counts["shop.orders"]["sinks left out"] == 1

    (commit,) = timeline(tmp_path, [BEGAN, gone, ISOLATED, ENDED]).failures
    assert (commit.what, commit.cause, commit.follows) == ("orders", "no room", given_up.follows)


def test_text_and_json_hold_the_same(tmp_path: Path) -> None:
    found = timeline(tmp_path, [BEGAN, RETRIED, GIVEN_UP, RESTARTED, ENDED])
    text = "\n".join(timeline_text(found))
    for one in failure_timeline.plain(found)["failures"]:
        for value in (one["cause"], one["follows"], one["split"], one["vertex"], one["remedy"], one["what"]):
            assert str(value) in text


def test_a_long_job_shows_its_newest_failures_and_counts_all(tmp_path: Path) -> None:
    """U2, U35, U40."""
    noise = line("rows_moved", level="DEBUG", rows=1)
    found = timeline(tmp_path, [BEGAN, *[RETRIED, noise] * 5000, ENDED], kept=3)

    assert (found.total, len(found.failures)) == (5000, 3)
    assert found.counts["shop.orders"]["failed attempts"] == 5000
    assert "failures: 5,000, the last 3" in next(iter(timeline_text(found)))
    assert len(timeline(tmp_path, [BEGAN, *[RETRIED] * 50, ENDED], kept=None).failures) == 50


def test_a_driver_that_says_no_last_word_is_a_failure(tmp_path: Path) -> None:
    """U1: Taken over by the next one, or by nobody yet; one that lives is none."""
    lines = [BEGAN, GIVEN_UP, {**BEGAN, "driver": 2}, ENDED | {"driver": 2}]
    given_up, dead = timeline(tmp_path, lines).failures
    assert (dead.what, dead.driver, dead.follows) == ("driver", 1, "driver 2 took over")
    assert given_up.follows == "its driver ended; driver 2 took over"

    (alone,) = timeline(tmp_path, [BEGAN]).failures
    assert "no driver has resumed" in alone.follows
    assert not timeline(tmp_path, [BEGAN], alive=True).total


def test_a_checkpoint_that_was_given_up_names_the_last_good_one(tmp_path: Path) -> None:
    about = {"pipeline": "p", "table": "t", "checkpoint": 9, "good": 7, "reason": "expired", "missing": ["x[0]"]}
    (one,) = timeline(tmp_path, [BEGAN, line("checkpoint_ended", **about), ENDED]).failures

    assert (one.what, one.checkpoint, one.cause) == ("checkpoint 9", 7, "expired; no answer of x[0]")


def test_a_torn_line_hides_no_other(tmp_path: Path) -> None:
    found = timeline(tmp_path, [BEGAN, RETRIED, '{"time": "20', ENDED])

    assert found.total == 1
    assert not read(tmp_path / "no such file", alive=False).total
