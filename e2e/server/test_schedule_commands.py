"""Schedules by the command line: in the database of the home, which a server that runs follows."""

from __future__ import annotations

import json
import shlex
import time
from pathlib import Path

from e2e.server.running import client, server, token_of
from e2e.support import seatunnel
from seatunnel_py.control.definition_text import DefinitionText
from seatunnel_py.control.store import audit, definitions
from seatunnel_py.control.store.audit import Act
from seatunnel_py.control.store.database import Database
from seatunnel_py.control.store.places.sqlite_file import database_file
from tests.web.how_to_pages import blocks, curl, lines

TEXT = "source { FakeSource { row.num = 10, schema { fields { id = bigint } } } }\nsink { Console {} }"


def defined(home: Path) -> Database:
    database = Database.open(database_file(home / ".seatunnel"), time.time)
    with database.acting(Act("tester", "definition.create", "people")) as write:
        text = DefinitionText.of(TEXT, "people")
        definitions.create(write.connection, "people", text, "tester", "", time.time())
    return database


def test_u36_schedules_by_the_command_line(tmp_path: Path) -> None:
    """Made, shown, changed, paused, run and removed; each act is in the audit."""
    database = defined(tmp_path)

    def schedule(*words: str) -> str:
        found = seatunnel(tmp_path, "server", "schedule", *words)
        assert found.code == 0, found.out + found.err
        return found.out

    made = schedule("add", "people", "--cron", "30 2 * * *", "--zone", "Europe/Berlin", "--begins", "2027-03-28")
    assert "30 2 * * * Europe/Berlin, next 2027-03-28T03:00:00+02:00" in made
    assert "every 15m" in schedule("add", "people", "--every", "15m", "--overlap", "queue", "-i", "day=today")
    rows = json.loads(schedule("list", "--json"))
    assert [(row["id"], row["every"], row["overlap"]) for row in rows] == [
        ("people", 0, "skip"),
        ("people-2", 900, "queue"),
    ]
    assert "every 1h" in schedule("change", "people-2", "--every", "3600s")
    shown = json.loads(schedule("show", "people-2", "--json"))
    assert (shown["overlap"], shown["variables"], len(shown["times"])) == ("queue", {"day": "today"}, 5)
    assert "next 2027-03-28T03:00:00+02:00" in schedule("change", "people", "--missed", "once")
    assert "paused" in schedule("pause", "people") and "paused" in schedule("list")
    assert "next 20" in schedule("resume", "people")
    assert "asked to start people-20" in schedule("run", "people")
    schedule("remove", "people-2")
    assert "people-2" not in schedule("list")
    with database.reading() as connection:
        acts = [row.act.act for row in reversed(audit.rows(connection)) if row.act.actor.startswith("command line of ")]
    assert acts == [f"schedule.{act}" for act in ("create", "create", "change", "change", "pause", "resume")] + [
        "run.start",
        "schedule.delete",
    ]
    database.close()


def test_wrong_words_are_refused_with_the_remedy(tmp_path: Path) -> None:
    defined(tmp_path).close()
    for words, message in (
        (("add", "people", "--cron", "99 * * * *"), "Bad minute"),
        (("add", "people", "--every", "15x"), "is not a duration"),
        (("add", "people", "--every", "1h", "--zone", "Europe/Berlinn"), "did you mean 'Europe/Berlin'?"),
        (("add", "peopel", "--every", "1h"), "there is no definition"),
        (("pause", "people"), "there is no schedule"),
        (("times",), "either a cron expression or an interval"),
    ):
        found = seatunnel(tmp_path, "server", "schedule", *words)
        assert found.code == 1 and message in found.err and "remedy" in found.err, found.err


def test_a_server_that_runs_follows_the_command_line(tmp_path: Path) -> None:
    """Its first time starts a real run."""
    with server(tmp_path) as (_, url), client(url, tmp_path) as http:
        assert http.post("/api/v1/definitions", json={"id": "people", "text": TEXT}).status_code == 201
        assert seatunnel(tmp_path, "server", "schedule", "add", "people", "--every", "10s").code == 0
        until = time.monotonic() + 120
        runs: list[str] = []
        while not runs or http.get(f"/api/v1/runs/{runs[-1]}").json().get("state") != "SUCCESS":
            assert time.monotonic() < until, http.get("/api/v1/schedules/people").text
            time.sleep(0.3)
            fires = http.get("/api/v1/schedules/people/fires").json()["fires"]
            runs = [one["job_id"] for one in fires if one["job_id"]]
        assert seatunnel(tmp_path, "server", "schedule", "remove", "people").code == 0


def test_the_page_about_schedules_does_what_it_shows(tmp_path: Path) -> None:
    """Every command in its order, beside a server that runs."""
    with server(tmp_path) as (_, url):
        places = {"TOKEN": token_of(tmp_path), "URL": f"{url}/api/v1", "server": url}
        defined(tmp_path).close()
        printed: dict[str, str] = {}
        for line in lines("schedule.md"):
            if line.startswith("curl "):
                answer = curl(line, places)
                assert answer.is_success, (line, answer.text)
                continue
            done = seatunnel(tmp_path, *shlex.split(line)[1:])
            assert done.code == 0, (line, done.err)
            printed[line] = done.out
    made, times = blocks("schedule.md", "text")
    assert made.partition(", next ")[0] == next(iter(printed.values())).partition(", next ")[0]
    assert times in printed.values()
