"""T3: the rules of a server's settings hold for questions about job files, for discoveries, and for real drivers."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from e2e.server.running import client, server
from tests.unit.api.test_egress import Listener, listening

SECONDS_MAX = 120
SOURCES = {
    "Jdbc": 'Jdbc {{ url = "jdbc:postgresql://localhost:{port}/x", user = a, table_path = "public.t" }}',
    "MySQL": 'Jdbc {{ url = "jdbc:mysql://127.0.0.1:{port}/x", user = a, table_path = "x.t" }}',
    "Kafka": 'Kafka {{ bootstrap.servers = "127.1:{port}", topic = t, schema {{ fields {{ id = bigint }} }} }}',
}


@pytest.fixture
def listener() -> Iterator[Listener]:
    with listening() as found:
        yield found


def job(source: str, port: int) -> str:
    return f"source {{ {SOURCES[source].format(port=port)} }}\nsink {{ Console {{}} }}\n"


def settings(folder: Path, text: str) -> None:
    (folder / ".seatunnel").mkdir()
    (folder / ".seatunnel/server.conf").write_text(text)


def test_t3_an_inner_service_is_not_reached_by_questions_nor_by_a_job(tmp_path: Path, listener: Listener) -> None:
    """Spark of the driver listens at the same addresses, and works."""
    settings(tmp_path, 'egress { deny = ["127.0.0.0/8", "::1"] }')
    with server(tmp_path) as (_, url), client(url, tmp_path) as api:
        for source in SOURCES:
            body = {"text": job(source, listener.port)}
            for path in ("test-connection",) if source == "Kafka" else ("test-connection", "discover"):
                answer = api.post(f"/api/v1/{path}", json=body)
                assert "egress.deny names" in answer.text and "egress.allow" in answer.text, answer.text
        listed = {"plugin": "Jdbc", "options": {"url": f"jdbc:postgresql://127.0.0.1:{listener.port}/x"}}
        answer = api.post("/api/v1/discover/tables", json=listed)
        assert "egress.deny names" in answer.text, answer.text

        made = api.post("/api/v1/definitions", json={"id": "inner", "text": job("Jdbc", listener.port)})
        assert made.status_code == 201, made.text
        api.post("/api/v1/definitions/inner/runs", json={}).raise_for_status()
        output = told(api, tmp_path)
        assert "egress.deny names" in output, output

        fine = "source { FakeSource { row.num = 5, schema { fields { id = bigint } } } }\nsink { Console {} }\n"
        api.post("/api/v1/definitions", json={"id": "fine", "text": fine}).raise_for_status()
        run = api.post("/api/v1/definitions/fine/runs", json={}).json()["job_id"]
        until = time.monotonic() + SECONDS_MAX
        while time.monotonic() < until and api.get(f"/api/v1/runs/{run}").json().get("state") != "SUCCESS":
            time.sleep(0.5)
        assert api.get(f"/api/v1/runs/{run}").json()["state"] == "SUCCESS"
    assert listener.seen() == 0


def told(api: httpx.Client, folder: Path) -> str:
    """What the driver of the first run has said at its end."""
    until = time.monotonic() + SECONDS_MAX
    while time.monotonic() < until:
        found = "".join(path.read_text() for path in (folder / ".seatunnel/server/output").glob("*.log"))
        if "remedy" in found:
            return found
        time.sleep(0.5)
    return str(api.get("/api/v1/runs").json())


def test_t3_metadata_is_refused_without_settings_and_this_machine_is_not(tmp_path: Path, listener: Listener) -> None:
    with server(tmp_path) as (_, url), client(url, tmp_path) as api:
        place = "169.254.169.254:80"
        text = job("Jdbc", 1).replace("localhost:1", place)
        answer = api.post("/api/v1/test-connection", json={"text": text})
        assert "a link-local address" in answer.text and place in answer.text, answer.text
        api.post("/api/v1/test-connection", json={"text": job("Jdbc", listener.port)})
    assert listener.seen() > 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('egress { mode = "deny-privat" }', "deny-private"),
        ('egress { allow = ["a b"] }', "neither an address"),
        ("egres { }", "egress"),
    ],
)
def test_t3_a_wrong_setting_stops_the_server(tmp_path: Path, text: str, said: str) -> None:
    settings(tmp_path, text)
    with pytest.raises(AssertionError, match="it has ended with"), server(tmp_path):
        pytest.fail(f"it answers, in spite of {said}")
