"""Definitions, starts, requests to runs, checks, tokens and the audit."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from seatunnel_py.control.store.tokens import Role
from tests.web.conftest import CANARY
from tests.web.running import CALM, JOB, Served, serving

TEXT = JOB.replace("NAME", "nightly").replace("ROWS", "30").replace("TABLE", "shop.nightly")
STREAM = """
env { job.name = stream, job.mode = STREAMING, checkpoint.interval = 500 }
source { FakeSource { row.num = 100000000, split.num = 50, split.read-interval = 200, schema { table = "shop.s", fields { id = bigint } } } }
sink { Console {} }
"""


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server of this file's own: real drivers are started."""
    with serving(tmp_path_factory.mktemp("writes"), replace(CALM, environment=("SHOP_PASSWORD",))) as served:
        yield served


def define(served: Served, id: str, text: str = TEXT) -> Any:
    answer = served.send("POST", "definitions", {"id": id, "text": text, "comment": "first"})
    assert answer.status_code == 201, answer.text
    return answer


def test_a_definition_has_revisions(own: Served) -> None:
    """U37, U41: Saved, changed, compared; each with its author and comment."""
    made = define(own, "shop")
    assert (made.headers["location"], made.headers["etag"]) == ("/api/v1/definitions/shop", '"1"')
    changed = own.send(
        "PUT", "definitions/shop", {"text": TEXT.replace("30", "40"), "comment": "more"}, Role.EDIT, If_Match='"1"'
    )
    assert (changed.status_code, changed.headers["etag"]) == (200, '"2"')
    found = own.get("definitions/shop").json()
    assert "40" in found["newest"]["text"] and found["newest"]["author"] == "edit"
    revisions = own.get("definitions/shop/revisions").json()["revisions"]
    assert [(one["number"], one["comment"]) for one in revisions] == [(2, "more"), (1, "first")]
    assert own.get("definitions/shop/revisions/1").json()["text"] == TEXT
    diff = own.get("definitions/shop/diff", **{"from": 1, "to": 2}).json()["diff"]
    assert [line[:1] for line in diff if "row.num" in line] == ["-", "+"]


def test_a_lost_update_is_412(own: Served) -> None:
    """Of ten at the same time one is taken; without a condition none is."""
    define(own, "contested")
    body = {"text": TEXT + "# x\n"}
    assert own.send("PUT", "definitions/contested", body).status_code == 428
    with ThreadPoolExecutor(10) as pool:
        bodies = [{"text": f"{TEXT}# {at}\n"} for at in range(10)]
        codes = list(
            pool.map(lambda one: own.send("PUT", "definitions/contested", one, If_Match='"1"').status_code, bodies)
        )
    assert sorted(codes) == [200] + [412] * 9


@pytest.mark.parametrize("id", ["", "..", "../x", "a/b", "-x", "a" * 64, "a b", "\u202ea", ".x"])
def test_t5_an_id_that_is_none_is_refused(own: Served, id: str) -> None:
    """It becomes a part of paths and of the ids of runs."""
    assert own.send("POST", "definitions", {"id": id, "text": TEXT}).status_code in (409, 422)


def test_t6_a_secret_in_a_text_is_refused_with_its_place(own: Served) -> None:
    """And is in no answer, no audit row and no file."""
    text = TEXT.replace("Console {}", f'Jdbc {{ url = "jdbc:postgresql://h/d", password = "{CANARY}", table = t }}')
    for method, path, headers in (("POST", "definitions", {}), ("PUT", "definitions/x", {"If_Match": '"1"'})):
        body = {"text": text} if method == "PUT" else {"id": "secret", "text": text}
        answer = own.send(method, path, body, **headers)
        (fault,) = answer.json()["problems"]
        assert (answer.status_code, fault["line"] > 0, "password" in fault["path"]) == (422, True, True)
        assert CANARY not in answer.text
    everywhere(own)


def everywhere(served: Served) -> None:
    """The canary is nowhere in what the server has stored."""
    for path in served.home.path.rglob("*"):
        if path.is_file():
            assert CANARY.encode() not in path.read_bytes(), path
    assert CANARY not in served.get("audit", Role.ADMIN, limit=200).text


def started(served: Served, id: str, body: Any = None, role: Role = Role.OPERATE, **headers: str) -> str:
    answer = served.send("POST", f"definitions/{id}/runs", body or {}, role, **headers)
    assert answer.status_code == 202, answer.text
    assert answer.headers["location"] == f"/api/v1/runs/{answer.json()['job_id']}"
    return str(answer.json()["job_id"])


def noted(served: Served, run: str, act: str, times: int = 1) -> None:
    """Wait for audit rows: the supervisor looks every half second."""
    end = time.monotonic() + 120
    while len(served.get("audit", Role.ADMIN, object=run, act=act).json()["audit"]) < times:
        assert time.monotonic() < end, (act, served.get(f"runs/{run}").text, output_of(served, run))
        time.sleep(0.2)


def output_of(served: Served, run: str) -> str:
    """What its driver has printed, for the message of a failed test."""
    output = served.home.path / "server" / "output" / f"{run}.log"
    return output.read_text() if output.exists() else ""


def until(served: Served, run: str, states: set[str], seconds: float = 120.0) -> dict[str, Any]:
    end = time.monotonic() + seconds
    while True:
        answer = served.get(f"runs/{run}")
        if answer.status_code == 200 and answer.json()["state"] in states:
            found: dict[str, Any] = answer.json()
            return found
        assert time.monotonic() < end, (answer.text, output_of(served, run), served.get("queue").text)
        time.sleep(0.2)


def until_checkpoint(own: Served, run: str) -> None:
    """Until the run has something to go on from."""
    end = time.monotonic() + 60
    while own.get(f"runs/{run}/checkpoints").json()["completed"] < 1:
        assert time.monotonic() < end, output_of(own, run)
        time.sleep(0.2)


def test_a_definition_is_started_once_for_a_key(own: Served) -> None:
    """Ten requests with one key are one run; the key with another body is refused; the receipt is over HTTP."""
    define(own, "nightly")
    with ThreadPoolExecutor(10) as pool:
        runs = set(pool.map(lambda _: started(own, "nightly", Idempotency_Key="k1"), range(10)))
    assert len(runs) == 1
    other = own.send("POST", "definitions/nightly/runs", {"priority": 5}, Role.OPERATE, Idempotency_Key="k1")
    assert (other.status_code, other.json()["type"]) == (422, "urn:seatunnel:problem:key")
    (run,) = runs
    head = until(own, run, {"SUCCESS", "FAILED"})

    assert (head["state"], head["receipt"]["totals"]["rows_read"]) == ("SUCCESS", 30)
    assert "30" in own.get(f"runs/{run}/log", of="output").text
    noted(own, run, "run.start")
    noted(own, run, "run.ended")


def test_t15_variables_need_the_role_edit(own: Served) -> None:
    """They change what runs; a secret among them is refused."""
    define(own, "varied", TEXT.replace("30", "${rows}"))
    body = {"variables": {"rows": "5"}}
    assert own.send("POST", "definitions/varied/runs", body, Role.OPERATE).status_code == 403
    secret = {"variables": {"rows": "5", "db_password": CANARY}}
    assert own.send("POST", "definitions/varied/runs", secret, Role.EDIT).status_code == 409
    run = started(own, "varied", body, Role.EDIT)
    assert until(own, run, {"SUCCESS", "FAILED"})["receipt"]["totals"]["rows_read"] == 5
    everywhere(own)


@pytest.mark.parametrize(
    "body", [{"only": ["--fresh"]}, {"restore": "--here"}, {"only": ["a\n"]}, {"job_id": "x"}, {"variables": {"a": 1}}]
)
def test_an_option_cannot_be_smuggled_in(own: Served, body: Any) -> None:
    """T15: Names of tables are arguments of the driver."""
    define(own, f"smuggled{time.monotonic_ns()}")
    assert own.send("POST", "definitions/nightly/runs", body).status_code == 422


def test_a_stream_is_saved_stopped_and_restored(own: Served) -> None:
    """U42: By requests as the command line writes them; each answer has a route of its own."""
    define(own, "stream", STREAM)
    run = started(own, "stream")
    until(own, run, {"RUNNING"})
    until_checkpoint(own, run)
    assert own.send("POST", f"runs/{run}/restore", {}, Role.OPERATE).status_code == 409
    asked = [
        own.send("POST", f"runs/{run}/savepoint", {"name": "kept"}, Role.OPERATE, Idempotency_Key="s") for _ in range(3)
    ]
    assert {one.status_code for one in asked} == {202} and len({one.text for one in asked}) == 1
    answer = answered(own, asked[0].headers["location"])
    assert answer["done"], answer
    (saved,) = own.get(f"runs/{run}/savepoints").json()["savepoints"]
    assert saved["name"] == "kept"
    stop = own.send("POST", f"runs/{run}/stop", {}, Role.OPERATE)
    assert answered(own, stop.headers["location"])["done"]
    assert until(own, run, {"STOPPED", "SUCCESS"})["state"] == "STOPPED"
    gone = own.send("POST", f"runs/{run}/cancel", {}, Role.OPERATE)
    assert (gone.status_code, gone.json()["type"]) == (409, "urn:seatunnel:problem:state")
    changed = own.send("PUT", "definitions/stream", {"text": STREAM.replace("shop.s", "shop.other")}, If_Match='"1"')
    restored = own.send("POST", f"runs/{run}/restore", {}, Role.OPERATE)
    # T12: with the text that the run began with, not with the newest one, whose targets may be others.
    assert (changed.status_code, restored.status_code, restored.json()["revision"]) == (200, 202, 1)
    until(own, run, {"RUNNING"})
    cancel = own.send("POST", f"runs/{run}/cancel", {}, Role.OPERATE)
    assert cancel.status_code == 202
    until(own, run, {"STOPPED", "FAILED", "KILLED"})


def answered(served: Served, location: str, seconds: float = 60.0) -> Any:
    end = time.monotonic() + seconds
    while (found := served.get(location).json())["answer"] is None:
        assert time.monotonic() < end, found
        time.sleep(0.1)
    return found["answer"]


def test_a_check_is_that_of_the_command_line(own: Served) -> None:
    """Every mistake with its place; an include and a file of the server are out of reach (T2)."""
    good = own.send("POST", "check", {"text": TEXT}, Role.EDIT).json()
    assert good["valid"] is True
    bad = own.send("POST", "check", {"text": TEXT.replace("row.num", "row.nun")}, Role.EDIT).json()
    (fault,) = [one for one in bad["problems"] if "nun" in one["path"] + one["message"]]
    assert (bad["valid"], fault["line"] > 0, fault["suggestion"]) == (False, True, "row.num")
    for include in ("/etc/passwd", "../../../../etc/passwd", "file:///etc/passwd", "http://169.254.169.254/x"):
        answer = own.send("POST", "check", {"text": f'include "{include}"\n{TEXT}'}, Role.EDIT)
        assert answer.json().get("valid") is False and "root:" not in answer.text
    assert [*own.home.path.glob("server/question-*")] == []


def test_a_plan_before_a_run_has_its_graph(own: Served) -> None:
    """The page shows it as it shows the graph of a run; rows are unknown yet. A wrong job file has its problems."""
    found = own.send("POST", "plan", {"text": TEXT}, Role.EDIT).json()
    assert [one["name"] for one in found["pipelines"]] == ["shop.nightly"]
    assert [one["plugin"] for one in found["graph"]["nodes"]] == ["FakeSource", "Console"]
    (edge,) = found["graph"]["edges"]
    assert len(edge["points"]) >= 2 and edge["rows"] is None
    assert [one["tables"] for one in found["graph"]["nodes"]] == [{"PENDING": 1}] * 2
    wrong = own.send("POST", "plan", {"text": TEXT.replace("row.num", "row.nun")}, Role.EDIT).json()
    assert "graph" not in wrong and wrong["problems"][0]["suggestion"] == "row.num"


@pytest.mark.parametrize(
    "text",
    [
        "${a" * 50_000,
        "a = [" * 10_000,
        "a = " + "1" * 100_000,
        "\n".join(f"v{at} = ${{v{at + 1}}}" for at in range(20_000)),
        "a {" * 39 + "}" * 39,
    ],
)
def test_o31_a_bomb_ends_in_time(own: Served, text: str) -> None:
    """As an answer: limits of the parser, or of its process (T10)."""
    begun = time.monotonic()
    answer = own.send("POST", "check", {"text": text}, Role.EDIT)
    assert time.monotonic() - begun < 25 and answer.status_code in (200, 422)
    assert own.get("/livez", None).status_code == 200


def test_t2_only_named_variables_of_the_server_reach_a_job(own: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a check, nor a driver, sees the others."""
    monkeypatch.setenv("OTHER_SECRET", CANARY)
    answer = own.send("POST", "check", {"text": TEXT.replace("nightly", "${env:OTHER_SECRET}")}, Role.EDIT)
    assert CANARY not in answer.text
    define(own, "other", TEXT.replace("shop.nightly", "x.${env:OTHER_SECRET}"))
    run = started(own, "other")
    noted(own, run, "run.ended")
    everywhere(own)


def test_a_token_is_made_shown_once_and_revoked(own: Served) -> None:
    """Its text is in the first answer only, and its hash is all that is stored."""
    made = own.send("POST", "tokens", {"name": "grafana", "role": "read"})
    text = made.json()["token"]
    own.tokens[Role.READ], before = text, own.tokens[Role.READ]
    assert own.get("whoami").json()["name"] == "grafana"
    own.tokens[Role.READ] = before
    assert text not in own.get("tokens", Role.ADMIN).text + own.get("audit", Role.ADMIN).text
    assert own.send("POST", "tokens", {"name": "x", "role": "raed"}).json()["remedy"].startswith("did you mean 'read'")
    assert own.send("DELETE", f"tokens/{made.json()['id']}").json()["valid"] is False
    for path in own.home.path.glob("server/*"):
        if path.is_file():
            assert text.encode() not in path.read_bytes()


def test_t18_refused_acts_leave_a_row(own: Served) -> None:
    """With the token, the address and the id of the request; reading leaves none."""
    refused = own.send("DELETE", "definitions/none", role=Role.READ)
    anonymous = own.send("POST", "tokens", {"name": "x", "role": "admin"}, role=None)
    unknown = own.send("DELETE", "definitions/none", role=Role.ADMIN)
    rows = {one["request"]: one for one in own.get("audit", Role.ADMIN, limit=50).json()["audit"]}

    for answer, code in ((refused, 403), (anonymous, 401), (unknown, 404)):
        row = rows[answer.headers["x-request-id"]]
        assert answer.status_code == code and row["result"].startswith("refused") and row["address"] == "127.0.0.1"
    assert rows[anonymous.headers["x-request-id"]]["actor"] == "anonymous"


def test_t18_no_route_changes_the_audit(own: Served) -> None:
    """It is read, in pages."""
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        assert own.send(method, "audit").status_code == 405
    first = own.get("audit", Role.ADMIN, limit=3).json()
    second = own.get("audit", Role.ADMIN, limit=3, before=first["next"]).json()
    ids = [one["id"] for one in first["audit"] + second["audit"]]
    assert ids == sorted(set(ids), reverse=True) and len(ids) == 6


def test_a_broken_database_leaves_the_runs(tmp_path: Path) -> None:
    """O10: reads are answered from the directories; a write is 503, and readyz tells that it is not ready."""
    with serving(tmp_path) as served:
        define(served, "x")
        served.get("runs")
        engine = served.context.database._writer
        engine.dispose()
        with engine.connect() as connection:  # a reader of the same pool would wait for it
            connection.exec_driver_sql("SELECT 1")
            connection.rollback()
        file = served.context.database.place.path
        before = file.read_bytes()
        file.write_bytes(b"not a database" * 1_000)
        for name in ("-wal", "-shm"):
            file.with_name(file.name + name).unlink(missing_ok=True)
        engine.dispose()
        answer = served.send("POST", "definitions", {"id": "y", "text": TEXT})
        assert answer.status_code in (401, 503), answer.text
        assert served.get("/readyz", None).status_code == 503
        assert served.get("/livez", None).status_code == 200
        file.write_bytes(before)


def test_json_has_no_way_round(own: Served) -> None:
    """Unknown keys and wrong types are refused everywhere."""
    for method, path in (("POST", "definitions"), ("POST", "tokens"), ("POST", "check"), ("POST", "plan")):
        for body in ({"more": 1}, {"id": 1, "text": 2, "name": 3, "role": 4}, ["x"], "x"):
            answer = own.send(method, path, body)
            assert answer.status_code == 422 and json.loads(answer.text)["problems"]
