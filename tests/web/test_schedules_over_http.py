"""Schedules over HTTP: made, changed, paused, run now, previewed, and each act in the audit."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from seatunnel_py.control.store.tokens import Role
from tests.web.running import CALM, JOB, Served, serving

TEXT = JOB.replace("NAME", "nightly").replace("ROWS", "30").replace("TABLE", "shop.nightly")
CRON = {"cron": "30 2 * * *", "zone": "Europe/Berlin", "overlap": "queue", "missed": "once"}


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("schedules"), CALM) as served:
        yield served


def define(served: Served, id: str) -> None:
    assert served.send("POST", "definitions", {"id": id, "text": TEXT}).status_code == 201


def made(served: Served, id: str, **body: Any) -> Any:
    answer = served.send("POST", f"definitions/{id}/schedules", body, Role.EDIT)
    assert answer.status_code == 201, answer.text
    return answer


def test_a_schedule_is_made_shown_changed_and_deleted(own: Served) -> None:
    """U36: And has its next times, also in the clocks of its zone (U33)."""
    define(own, "shop")
    answer = made(own, "shop", **CRON, begins="2027-03-27T00:00", variables={"day": "today"})
    assert (answer.headers["location"], answer.headers["etag"]) == ("/api/v1/schedules/shop", '"1"')
    found = own.get("schedules/shop").json()
    assert {**CRON, "begins": "2027-03-27T00:00:00+01:00", "ends": "", "every": 0}.items() <= found.items()
    assert found["variables"] == {"day": "today"} and found["created_by"] == "edit" and found["last"] is None
    locals = [one["local"] for one in found["times"]]
    assert locals[:3] == ["2027-03-27T02:30:00+01:00", "2027-03-28T03:00:00+02:00", "2027-03-29T02:30:00+02:00"]
    assert found["next"] == found["times"][0]["at"] > time.time()

    body = {"every": 3_600}
    assert own.send("PUT", "schedules/shop", body, Role.EDIT).status_code == 428
    changed = own.send("PUT", "schedules/shop", body, Role.EDIT, If_Match='"1"')
    assert (changed.status_code, changed.headers["etag"], changed.json()["cron"]) == (200, '"2"', "")
    assert own.send("PUT", "schedules/shop", {"every": 60}, Role.EDIT, If_Match='"1"').status_code == 412
    listed = own.get("definitions", q="shop").json()["definitions"][0]
    assert (listed["schedules"], listed["next_start"]) == (1, changed.json()["next"])

    assert own.send("DELETE", "schedules/shop", role=Role.EDIT).status_code == 200
    assert own.get("schedules/shop").status_code == 404
    assert own.get("definitions", q="shop").json()["definitions"][0]["next_start"] is None
    acts = [one["act"] for one in own.get("audit", Role.ADMIN, object="shop").json()["audit"]]
    assert acts[:3] == ["schedule.delete", "schedule.change", "schedule.change"] and "schedule.create" in acts


def test_a_schedule_is_paused_resumed_and_run_now(own: Served) -> None:
    define(own, "paused")
    made(own, "paused", every=86_400)
    answer = own.send("POST", "schedules/paused/pause", role=Role.OPERATE)
    assert (answer.json()["paused"], answer.json()["next"], answer.json()["times"]) == (True, None, [])
    answer = own.send("POST", "schedules/paused/resume", role=Role.OPERATE)
    assert answer.json()["paused"] is False and answer.json()["next"] is not None
    runs = [own.send("POST", "schedules/paused/runs", role=Role.OPERATE, Idempotency_Key="k") for _ in range(2)]
    assert {one.status_code for one in runs} == {202} and len({one.json()["job_id"] for one in runs}) == 1
    acts = [one["act"] for one in own.get("audit", Role.ADMIN, limit=200).json()["audit"] if one["object"] == "paused"]
    assert {"schedule.create", "schedule.pause", "schedule.resume"} <= set(acts)


def test_a_schedule_starts_real_runs(own: Served) -> None:
    """Its history names the run, and the audit the schedule."""
    define(own, "often")
    made(own, "often", every=10)
    end = time.monotonic() + 120
    fires: list[Any] = []
    while not fires or own.get(f"runs/{fires[-1]['job_id']}").json().get("state") != "SUCCESS":
        assert time.monotonic() < end, (fires, own.get("schedules/often").text)
        time.sleep(0.2)
        fires = own.get("schedules/often/fires").json()["fires"]
    own.send("DELETE", "schedules/often")
    assert fires[-1]["outcome"] == "started" and 0 <= fires[-1]["at"] - fires[-1]["due"] <= 60
    (row,) = own.get("audit", Role.ADMIN, object=fires[-1]["job_id"], act="run.start").json()["audit"]
    assert row["actor"] == "schedule:often"


def test_times_are_previewed_without_a_schedule(own: Served) -> None:
    found = own.get("schedule-times", cron="0 12 * * MON", zone="Asia/Tokyo", begins="2028-01-01", count=2).json()
    assert [one["local"] for one in found["times"]] == ["2028-01-03T12:00:00+09:00", "2028-01-10T12:00:00+09:00"]
    assert own.get("schedule-times", every=3_600, count=100).json()["times"][99]["at"] > time.time() + 98 * 3_600
    assert own.get("schedule-times", cron="0 0 1 1 *", ends="2027-06-01", count=9).json()["times"] != []


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ({}, "either a cron expression or an interval"),
        ({"cron": "99 * * * *"}, "Bad minute"),
        ({"cron": "* * * * *", "zone": "Mars/Base"}, "no time zone"),
        ({"every": 60, "overlap": "stop"}, "overlap cannot be"),
        ({"cron": "0 0 30 2 1,2", "ends": "2026-01-01"}, "ends before its first time"),
        ({"every": 60, "id": "../x"}, "cannot name a schedule"),
        ({"every": "60"}, "request is wrong"),
        ({"every": 60, "extra": 1}, "request is wrong"),
    ],
)
def test_a_wrong_schedule_is_422_with_the_remedy(own: Served, body: dict[str, Any], detail: str) -> None:
    answer = own.send("POST", "definitions/shop/schedules", body, Role.EDIT)
    assert answer.status_code == 422 and detail in answer.json()["detail"]


def test_t15_a_secret_is_no_variable_and_operators_change_no_schedule(own: Served) -> None:
    body = {"every": 60, "variables": {"password": "hunter22"}}
    answer = own.send("POST", "definitions/shop/schedules", body, Role.EDIT)
    assert answer.status_code == 409 and "hunter22" not in answer.text
    assert own.send("POST", "definitions/shop/schedules", {"every": 60}, Role.OPERATE).status_code == 403


def test_u8_lists_of_schedules_and_fires_are_paged(own: Served) -> None:
    define(own, "many")
    names = [made(own, "many", every=86_400).json()["id"] for _ in range(5)]
    assert names == ["many", *(f"many-{number}" for number in range(2, 6))]
    first = own.get("schedules", definition="many", limit=3).json()
    rest = own.get("schedules", definition="many", limit=3, after=first["next"]).json()
    assert [one["id"] for one in first["schedules"] + rest["schedules"]] == names and rest["next"] is None
    assert own.get("schedules", q="many-4").json()["schedules"][0]["id"] == "many-4"
    assert own.get("schedules/many/fires", limit=1).json() == {"fires": [], "next": None}


def test_a_deleted_definition_takes_its_schedules_along(own: Served) -> None:
    """One of the same name that is made later does not find them again."""
    define(own, "gone")
    made(own, "gone", every=86_400)
    assert own.send("DELETE", "definitions/gone").status_code == 200
    define(own, "gone")
    assert own.get("schedules", definition="gone").json()["schedules"] == []
