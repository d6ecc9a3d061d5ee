"""What is refused before any route: hosts, bodies, times; and what every answer has."""

from __future__ import annotations

import json
import socket
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from seatunnel_py.control.store.tokens import Role
from seatunnel_py.web.request_frame import HEADERS, deeper_than, named_host
from tests.web.running import CALM, Served, serving


def raw(served: Served, text: bytes, *, wait: float = 10.0) -> bytes:
    """What the server answers to these bytes."""
    with socket.create_connection(served.address, timeout=wait) as connection:
        connection.sendall(text)
        found = b""
        while b"\r\n\r\n" not in found and (part := connection.recv(65_536)):
            found += part
    return found


def request(served: Served, first: str, host: str = "127.0.0.1", body: bytes = b"", **more: str) -> bytes:
    lines = [first, f"Host: {host}", f"Authorization: Bearer {served.tokens[Role.ADMIN]}", "Connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in more.items()]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def status(answer: bytes) -> int:
    return int(answer.split()[1])


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1.evil.example", "evil.example:80", "[::2]", "", "localhost@evil", "169.254.169.254"],
)
def test_t8_another_host_is_refused(served: Served, host: str) -> None:
    """U29: A page whose name points at this machine cannot read it: 421, also with a right token (rebinding)."""
    assert status(raw(served, request(served, "GET /api/v1/runs HTTP/1.1", host))) in (400, 421)


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1:99", "[::1]:5801", "localhost."])
def test_own_names_are_answered(served: Served, host: str) -> None:
    """With any port, for a proxy may have another one."""
    assert status(raw(served, request(served, "GET /api/v1/runs HTTP/1.1", host))) == 200


def test_names_of_hosts() -> None:
    """IPv6 in brackets; nothing where there is nothing."""
    assert [named_host(text) for text in (b"[::1]:80", b"A.b:1", b"", b":80")] == [{"::1"}, {"a.b"}, set(), set()]


@pytest.mark.parametrize("path", ["/livez", "/api/v1/runs", "/api/v1/nothing", "/metrics", "/api/v1/runs/none"])
@pytest.mark.parametrize("role", [None, Role.READ])
def test_every_answer_has_the_security_headers(served: Served, path: str, role: Role | None) -> None:
    """Errors, too."""
    answer = served.get(path, role)

    assert {(name.decode(), value.decode()) for name, value in HEADERS} <= set(answer.headers.items())
    assert answer.headers["x-request-id"] and "server" not in answer.headers
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize(
    ("path", "role", "code"),
    [
        ("/api/v1/x", None, 404),
        ("/api/v1/runs", None, 401),
        ("/api/v1/runs?limit=0", Role.READ, 422),
        ("/api/v1/tokens", Role.READ, 403),
        ("/api/v1/runs/none", Role.READ, 404),
    ],
)
def test_a_problem_has_its_keys(served: Served, path: str, role: Role | None, code: int) -> None:
    """U3, U26: RFC 9457, with the id of the request."""
    answer = served.get(path, role)
    plain = answer.json()

    assert (answer.status_code, answer.headers["content-type"]) == (code, "application/problem+json")
    assert set(plain) == {"type", "title", "status", "detail", "remedy", "problems", "request"}
    assert (plain["status"], plain["request"]) == (code, answer.headers["x-request-id"])


@pytest.mark.parametrize("size", [2**20 + 1, 2**24])
def test_t11_a_huge_body_is_refused(served: Served, size: int) -> None:
    """Where it says so itself, nothing of it is read."""
    declared = raw(
        served,
        request(served, "POST /api/v1/check HTTP/1.1", Content_Length=str(size), Content_Type="application/json"),
    )
    assert status(declared) == 413
    answer = served.send("POST", "check", {"text": "x" * size})
    assert answer.status_code == 413


def test_t11_a_huge_body_in_pieces_is_refused(served: Served) -> None:
    """It does not say how long it is."""

    def pieces() -> Any:
        for _ in range(40):
            yield b'"' + b"x" * 65_536

    with served.client(Role.ADMIN) as client:
        answer = client.post("/api/v1/check", content=pieces(), headers={"Content-Type": "application/json"})
    assert answer.status_code == 413


@pytest.mark.parametrize("length", ["-1", "x", "1e3", "99999999999999999999"])
def test_a_length_that_is_none_is_refused(served: Served, length: str) -> None:
    """400 or 413, never a wait."""
    answer = raw(
        served, request(served, "POST /api/v1/check HTTP/1.1", Content_Length=length, Content_Type="application/json")
    )
    assert status(answer) in (400, 413)


@pytest.mark.parametrize("open", ["[", '{"a":'])
def test_t10_deep_json_is_refused(served: Served, open: str) -> None:
    """Before it is parsed; 64 levels are taken, brackets in texts do not count."""
    for depth, refused in ((65, True), (100_000, True)):
        with served.client(Role.ADMIN) as client:
            answer = client.post("/api/v1/check", content=open * depth, headers={"Content-Type": "application/json"})
        assert ("depth" in answer.json()["type"]) is refused
        assert answer.status_code == 422


def test_the_depth_of_json() -> None:
    """In time linear in its length, whatever it holds."""
    assert not deeper_than(b"[" * 64 + b"]" * 64, 64)
    assert deeper_than(b"[" * 65, 64)
    assert not deeper_than(json.dumps("[" * 1_000 + '"' + "{" * 1_000).encode(), 1)
    assert not deeper_than(b'["' + b"\\" * 100_000 + b"[" * 1_000, 2)
    begun = time.monotonic()
    deeper_than(b'"' * 2**20, 64)
    deeper_than(b'"\\' * 2**19, 64)
    assert time.monotonic() - begun < 5


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""]
)
def test_t8_a_body_of_a_form_is_refused(served: Served, kind: str) -> None:
    """A page of another origin can send these without a preflight."""
    headers = {"Content-Type": kind} if kind else {}
    with served.client(Role.ADMIN) as client:
        answer = client.post("/api/v1/check", content=b'{"text": "x"}', headers=headers)
    assert answer.status_code == 415


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"{",
        b'{"text": 1}',
        b'{"text": "a", "more": 1}',
        b"\xff\xfe",
        b'{"text": "\\ud800"}',
        b"NaN",
    ],
)
def test_a_wrong_body_is_a_problem(served: Served, body: bytes) -> None:
    """Never an error of the server."""
    with served.client(Role.ADMIN) as client:
        answer = client.post("/api/v1/check", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422, answer.text
    assert answer.headers["content-type"] == "application/problem+json"


PATHS = [
    "/api/v1/runs/../../../etc/passwd", "/api/v1/runs/..%2f..%2f..%2fetc%2fpasswd", "/api/v1/runs/%252e%252e%252fetc",
    "/api/v1/runs/..", "/api/v1/runs/%2e%2e", "/api/v1/runs/.", "/api/v1/runs/one%00", "/api/v1/runs/one/log/../../x",
    "/api/v1/runs/outside", "/api/v1/runs/outside/log", "/api/v1/runs/outside/events", "/api/v1/runs/ONE",
    "/api/v1/runs/one%2f..%2ftwo", "/api/v1/runs/one/tables/..%2f..%2fjob.json", "/api/v1/runs/one/tables/%2fetc%2fpasswd",
    "/api/v1/definitions/..%2f..", "/api/v1/plugins/source/..%2f..%2fetc", "/api/v1/runs/one/requests/..%2fjob",
    "/api/v1/runs/%5c..%5cone", "//api/v1/runs", "/api/v1/runs/" + "a" * 5_000, "/api/v1/runs/one/requests/000000000000",
]  # fmt: skip


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path[:50])
def test_t5_a_name_is_never_a_path(served: Served, path: str) -> None:
    """U27: Whatever its form: nothing outside of the runs answers."""
    answer = raw(served, request(served, f"GET {path} HTTP/1.1"))

    assert status(answer) in (404, 409) or (path == "/api/v1/runs/outside" and b"root:" not in answer)
    assert b"root:" not in answer and b"daemon" not in answer


def test_t11_one_token_has_a_rate(tmp_path: Path) -> None:
    """429 with the time to wait; another token is not disturbed."""
    with serving(tmp_path, replace(CALM, requests_per_second=1.0)) as served:
        with served.client(Role.READ) as client:
            begun = time.monotonic()
            found = [client.get("/api/v1/whoami") for _ in range(30)]
            more = time.monotonic() - begun
        refused = [one for one in found if one.status_code == 429]
        assert 2 <= len(found) - len(refused) <= 3 + more and {one.status_code for one in found} == {200, 429}
        assert all(int(one.headers["retry-after"]) >= 1 for one in refused)
        assert served.get("whoami", Role.ADMIN).status_code == 200


def test_checks_have_a_rate_of_their_own(tmp_path: Path) -> None:
    """T11: An editor asks at each pause of typing; what opens connections is not used up by that."""
    with serving(tmp_path, replace(CALM, checks_per_minute=6, costly_per_minute=1)) as served:
        found = [served.send("POST", "check", {"text": "x {"}, Role.EDIT).status_code for _ in range(5)]
        assert found == [200, 200, 200, 429, 429]
        assert [served.send("POST", "plan", {"text": "x {"}, Role.EDIT).status_code for _ in range(2)] == [200, 429]


HELD_SECONDS = 5.0


def test_a_request_that_takes_too_long_is_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """503 in time, while its thread goes on; the next request is served."""
    with serving(tmp_path, replace(CALM, request_seconds=0.5)) as served:
        whole = served.context.index.page
        monkeypatch.setattr(
            type(served.context.index), "page", lambda *a, **k: (time.sleep(HELD_SECONDS), whole(*a, **k))[1]
        )
        begun = time.monotonic()
        answer = served.get("runs")
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
        assert time.monotonic() - begun < HELD_SECONDS
        assert served.get("/livez", None).status_code == 200


def test_a_slow_body_is_given_up(tmp_path: Path) -> None:
    """A client that sends one byte and waits holds nothing."""
    with serving(tmp_path, replace(CALM, request_seconds=0.5)) as served:
        text = request(
            served, "POST /api/v1/check HTTP/1.1", body=b"{", Content_Length="10", Content_Type="application/json"
        )
        assert status(raw(served, text)) == 408


def test_t11_refused_writes_do_not_fill_the_disk(tmp_path: Path) -> None:
    """A row for each of the first ones, not for each of three hundred."""
    with serving(tmp_path) as served:
        with served.client(None) as client:
            codes = {client.post("/api/v1/tokens", json={}).status_code for _ in range(300)}
        rows = served.get("audit", Role.ADMIN, actor="anonymous", limit=200).json()["audit"]
    assert codes == {401} and 60 <= len(rows) < 120


def test_what_an_abandoned_request_sends_is_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its answer comes after the one that the client has got, on the same connection: the next answer is whole."""
    with serving(tmp_path, replace(CALM, request_seconds=0.3)) as served:
        whole = served.context.index.page
        monkeypatch.setattr(type(served.context.index), "page", lambda *a, **k: (time.sleep(0.8), whole(*a, **k))[1])
        with served.client(Role.READ) as client:
            for _ in range(3):
                assert client.get("/api/v1/runs").status_code == 503
                assert client.get("/api/v1/whoami").json()["role"] == "read"
                time.sleep(0.6)
                assert client.get("/api/v1/whoami").json()["role"] == "read"
