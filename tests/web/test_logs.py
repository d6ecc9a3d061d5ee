"""Logs and events: windows of bytes, over rotations, long lines, binary bytes and half a line."""

from __future__ import annotations

import json
import os
import resource
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from seatunnel_py.runtime.diagnosis.rotating_file import RotatingFile
from seatunnel_py.runtime.storage.home import Home
from tests.web.running import Served, serving


@pytest.fixture
def logged(tmp_path: Path, runs_home: Home) -> Iterator[Served]:
    """A server over one run, whose log a test writes."""
    home = Home(tmp_path / ".seatunnel")
    shutil.copytree(runs_home.path / "jobs" / "one", home.path / "jobs" / "one")
    with serving(tmp_path, home=home) as served:
        yield served


def file_of(served: Served, name: str = "job.log") -> Path:
    return served.home.path / "jobs" / "one" / name


def get(served: Served, begin: str | None = None, what: str = "log", **more: Any) -> httpx.Response:
    return served.get(f"runs/one/{what}", **({"from": begin} if begin else {}), **more)


def whole(served: Served, begin: str, what: str = "log", **more: Any) -> list[Any]:
    """Everything from a position on, window by window."""
    found: list[Any] = []
    for _ in range(10_000):
        part = get(served, begin, what, **more).json()
        found += part["lines" if what == "log" else what]
        if part["end"] or part["next"] == begin:
            return found
        begin = part["next"]
    raise AssertionError("it does not end")


def first(served: Served, what: str = "log") -> str:
    """The position of the first byte."""
    return str(get(served, what=what).json()["next"]).partition(":")[0] + ":0"


def test_windows_give_every_line_once_and_in_order(logged: Served) -> None:
    """U18: Whatever the size of a window; the last bytes begin with a whole line."""
    lines = [f"line {at} {'ü' * (at % 50)}" for at in range(1_000)]
    file_of(logged).write_text("\n".join(lines) + "\n")

    for size in (65_536, 1_000, 333):
        assert whole(logged, first(logged), bytes=size) == lines
    tail = get(logged, "-1000").json()
    assert tail["end"] and tail["lines"] == lines[-len(tail["lines"]) :] and len(tail["lines"]) > 5


def test_o16_a_reader_goes_on_over_rotations(logged: Served) -> None:
    """A position keeps its meaning while the file moves under another name."""
    path = file_of(logged)
    path.unlink(missing_ok=True)
    writer = RotatingFile(path, limit=1_000, generations=50)
    seen: list[str] = []
    begin = ""
    for at in range(600):
        writer.write(f"line {at}\n")
        if at % 37 == 0:
            begin = begin or first(logged)
            while True:
                part = get(logged, begin, bytes=300).json()
                seen += part["lines"]
                begin = part["next"]
                if part["end"]:
                    break
    writer.close()
    seen += whole(logged, begin)

    assert seen == [f"line {at}" for at in range(600)]


def test_o16_a_position_that_is_gone_is_410_with_the_way_on(logged: Served) -> None:
    """After more rotations than are kept; the oldest line that is there follows."""
    path = file_of(logged)
    path.unlink(missing_ok=True)
    writer = RotatingFile(path, limit=200, generations=3)
    writer.write("line 0\n")
    begin = first(logged)
    for at in range(1, 200):
        writer.write(f"line {at}\n")
    writer.close()
    answer = get(logged, begin)

    assert answer.status_code == 410
    left = whole(logged, answer.json()["next"])
    assert left == [f"line {at}" for at in range(200 - len(left), 200)] and 20 < len(left) < 120
    assert get(logged, answer.json()["newest"]).status_code == 200


def test_o16_a_file_that_was_cut_or_written_anew_is_410(logged: Served) -> None:
    """Its offsets mean something else now."""
    path = file_of(logged)
    path.write_text("line\n" * 100)
    end = get(logged).json()["next"]
    path.write_text("line\n")
    assert get(logged, end).status_code == 410
    path.rename(path.with_name("kept"))
    path.write_text("line\n" * 200)
    assert get(logged, end).status_code == 410
    path.unlink()
    assert get(logged).json()["end"] is True


@pytest.mark.parametrize(
    "begin", ["x", "0", "1:1", "-", "-x", "1.zz:0", "1.a:-1", "../etc", "1.a:" + "9" * 30, "0.0:0\x00"]
)
def test_a_text_that_is_no_position_is_refused(logged: Served, begin: str) -> None:
    """422 or 410, never an error of the server."""
    file_of(logged).write_text("line\n")
    assert get(logged, begin).status_code in (410, 422)


def test_o17_a_long_line_is_handed_out_in_bounded_parts(logged: Served) -> None:
    """U18: 100 MB in one line in a file of a GiB: windows stay small, and so does the server."""
    path = file_of(logged)
    with path.open("wb") as file:
        file.write(b"begin\n")
        for _ in range(100):
            file.write(b"x" * 10**6)
        file.write(b"\nend\n")
        file.truncate(2**30)  # the rest is a hole of NUL
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begin, sizes = first(logged), []
    for _ in range(50):
        answer = get(logged, begin)
        sizes.append(len(answer.content))
        begin = answer.json()["next"]
    tail = get(logged, "-65536").json()
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    assert max(sizes) < 70_000 and after - before < 20_000
    assert get(logged, first(logged)).json()["lines"][0] == "begin"
    assert all(len(line) < 8_300 for line in tail["lines"])


def test_o17_control_characters_are_pictures(logged: Served) -> None:
    """Colours, bells, NUL, bidirectional marks and bytes that are no text: seen, and without effect (T9)."""
    file_of(logged).write_bytes(
        b"\x1b[31mred\x07 \x00 \xff\xfe tab\there \xe2\x80\xae \xc2\x9b31m \x7f\n" + b"y" * 10_000 + b"\n"
    )
    shown, long = get(logged).json()["lines"]

    assert shown.startswith("␛[31mred␇ ␀ \ufffd\ufffd tab\there \\u202e \\x9b31m ␡")
    assert long == "y" * 8_192 + " … 1,808 bytes are not shown"


def test_o18_half_a_line_waits_until_it_is_whole(logged: Served) -> None:
    """While a driver is alive; afterwards it is shown as it is."""
    import fcntl

    path = file_of(logged, "events.jsonl")
    begin = str(get(logged, what="events").json()["next"])
    with (file_of(logged, "lock")).open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with path.open("a") as file:
            file.write('{"level": "INFO", "event": "a", "time"')
            file.flush()
            waits = get(logged, begin, "events").json()
            assert (waits["events"], waits["next"]) == ([], begin)
            file.write(': "now"}\n')
            file.flush()
            assert [one["event"] for one in get(logged, begin, "events").json()["events"]] == ["a"]
    with path.open("a") as file:
        file.write('{"half')
    last = whole(logged, begin, "events")
    assert [one["event"] for one in last] == ["a", "(unreadable line)"]


def test_o18_lines_of_a_newer_version_are_shown_as_such(logged: Served) -> None:
    """Unknown events, unknown levels, and what is no event at all; every mutation of a line."""
    path = file_of(logged, "events.jsonl")
    known = path.read_text().splitlines()
    lines = [
        json.dumps({"event": "of_later", "level": "TRACE", "more": {"a": 1}}),
        "[]",
        "null",
        "17",
        '"text"',
        "{",
        "",
        "{}",
        "[" * 10_000,
    ]
    lines += [known[0][:at] for at in range(0, len(known[0]), 7)] + [known[0].replace('"', "", 1)]
    path.write_text("\n".join(lines) + "\n")
    found = whole(logged, first(logged, "events"), "events", limit=20)

    assert len(found) == len(lines)
    assert found[0]["more"] == {"a": 1} and found[1]["event"] == "(unreadable line)"
    for part in ("", "/failures", "/tables", "/checkpoints"):
        assert logged.get(f"runs/one{part}").status_code == 200


def test_events_are_chosen_by_level_and_paged(logged: Served) -> None:
    """U35: A page ends at its limit, and the next one goes on there."""
    path = file_of(logged, "events.jsonl")
    levels = ("DEBUG", "INFO", "WARNING", "ERROR")
    path.write_text(
        "".join(json.dumps({"level": levels[at % 4], "event": "e", "at": at}) + "\n" for at in range(1_000))
    )

    every = whole(logged, first(logged, "events"), "events", limit=7)
    grave = whole(logged, first(logged, "events"), "events", level="warning")
    assert [one["at"] for one in every] == [*range(1_000)]
    assert [one["at"] for one in grave] == [at for at in range(1_000) if at % 4 >= 2]


def test_a_link_in_place_of_a_log_is_not_followed(logged: Served) -> None:
    """T5: a job, or its user, could point it anywhere."""
    file_of(logged).unlink(missing_ok=True)
    file_of(logged).symlink_to("/etc/passwd")
    answer = get(logged)
    assert answer.status_code == 410 and "root:" not in answer.text
    file_of(logged).unlink()
    os.mkfifo(file_of(logged))
    assert get(logged).status_code in (200, 410)
