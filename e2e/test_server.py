"""The server by its public command line: its start, its token, a job over HTTP, and its end."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from e2e.server.running import server
from e2e.support import IN_PROCESS, finish, seatunnel, start, write_job

JOB = """
    env { job.name = shop }
    source { FakeSource { row.num = 300, schema { table = "shop.events", fields { id = bigint } } } }
    sink { Console {} }
"""
LONG = JOB.replace("job.name = shop", "job.name = shop, read_limit.rows_per_second = 20, unit.rows = 10")


def get(url: str, path: str, token: str) -> Any:
    answer = httpx.get(
        f"{url}/api/v1/{path}", headers={"Authorization": f"Bearer {token}"}, timeout=30, trust_env=False, verify=False
    )
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_job_is_read_over_http_as_on_the_command_line(tmp_path: Path) -> None:
    """A token is made by the command; the numbers are those of `jobs show --json`."""
    write_job(tmp_path, JOB)
    with server(tmp_path) as (process, url):
        made = seatunnel(tmp_path, "server", "token", "create", "reader", "--to", "reader.token", own_interpreter=True)
        assert made.code == 0, made.err
        token = (tmp_path / "reader.token").read_text().strip()
        assert stat.S_IMODE((tmp_path / "reader.token").stat().st_mode) == 0o600 and token not in made.out + made.err
        ran = finish(start(tmp_path, "run", "job.conf", "--job-id", "one", "--json", program=IN_PROCESS))
        assert ran.code == 0, ran.err
        shown = seatunnel(tmp_path, "jobs", "show", "one", "--json").receipt
        head = get(url, "runs/one", token)
        tables = get(url, "runs/one/tables", token)["tables"]

        assert head["receipt"]["totals"] == shown["receipt"]["totals"] == ran.receipt["totals"]
        assert [{**one, "key": ""} for one in tables] == [{**one, "key": ""} for one in shown["receipt"]["tables"]]
        assert get(url, "runs/one/checkpoints", token) == shown["checkpoints"]
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0


def test_the_first_token_is_in_a_private_file_only(tmp_path: Path) -> None:
    """The output names the file, and the second start makes none (T14)."""
    with server(tmp_path) as (process, url):
        file = tmp_path / ".seatunnel/server/admin.token"
        token = file.read_text().strip()
        assert get(url, "whoami", token)["role"] == "admin"
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
        for path in file.parent.iterdir():
            assert not stat.S_IMODE(path.stat().st_mode) & 0o077, path
        process.send_signal(signal.SIGINT)
        out = process.communicate(timeout=10)[0]
        assert process.returncode == 0 and token not in out
    with server(tmp_path) as (_, url):
        assert len(get(url, "tokens", token)["tokens"]) == 1


def test_o28_a_token_that_others_may_read_stops_the_start(tmp_path: Path) -> None:
    """With the remedy."""
    with server(tmp_path):
        pass
    (tmp_path / ".seatunnel/server/admin.token").chmod(0o644)
    done = seatunnel(tmp_path, "server", "run", "--port", "0", own_interpreter=True)
    assert done.code == 1 and "chmod 600" in done.err


def test_o14_a_port_that_is_taken_is_an_error(tmp_path: Path) -> None:
    """Exit code 1, by whom, and the option; no other port is tried."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = seatunnel(tmp_path, "server", "run", "--port", str(port), own_interpreter=True)
    assert done.code == 1 and "--port" in done.err
    assert f"the port {port} of 127.0.0.1 is taken by the process {os.getpid()}" in done.err
    assert len(done.err.splitlines()) == 2


def test_o12_a_second_server_of_a_home_names_the_first(tmp_path: Path) -> None:
    """And the first goes on."""
    with server(tmp_path) as (process, url):
        second = seatunnel(tmp_path, "server", "run", "--port", "0", own_interpreter=True)
        assert second.code == 1 and url in second.err and str(process.pid) in second.err
        assert httpx.get(f"{url}/livez", trust_env=False).status_code == 200


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (("--host", "0.0.0.0"), "--tls-certificate"),
        (("--host", "::"), "--trusted-proxy"),
        (("--tls-key", "x"), "certificate"),
        (("--trusted-proxy", "*"), "IP address"),
        (("--host", "203.0.113.1", "--trusted-proxy", "127.0.0.1"), "cannot listen"),
    ],
)
def test_an_unsafe_address_is_refused(tmp_path: Path, words: tuple[str, ...], names: str) -> None:
    """Tokens would be read on the way."""
    done = seatunnel(tmp_path, "server", "run", "--port", "0", *words, own_interpreter=True)
    assert done.code == 1 and names in done.err, done.err


def test_o22_the_end_is_quick_with_open_streams_and_jobs_go_on(tmp_path: Path) -> None:
    """SIGTERM: a farewell to each stream, the end without waiting for them, and a job that has not noticed."""
    write_job(tmp_path, LONG)
    with server(tmp_path) as (process, url):
        token = (tmp_path / ".seatunnel/server/admin.token").read_text().strip()
        driver = start(tmp_path, "run", "job.conf", "--job-id", "long", "--json", program=IN_PROCESS)
        streams = [socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2]))) for _ in range(10)]
        for stream in streams:
            stream.sendall(
                f"GET /api/v1/live HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
            )
            while b"event: runs" not in stream.recv(65_536):
                pass
        begun = time.monotonic()
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
        took = time.monotonic() - begun
        texts = [b"".join(iter(lambda stream=stream: stream.recv(65_536), b"")) for stream in streams]
        assert all(b"farewell" in text for text in texts)
        assert took <= 6.0  # 0.2 s where nothing else runs
        for stream in streams:
            stream.close()
    done = finish(driver)
    assert done.code == 0 and done.receipt["totals"]["rows_read"] == 300


def test_tokens_on_the_command_line(tmp_path: Path) -> None:
    """Listed without their texts, revoked by name; never printed into a pipe unasked."""
    refused = seatunnel(tmp_path, "server", "token", "create", "x", own_interpreter=True)
    assert refused.code == 1 and "--to" in refused.err
    printed = seatunnel(tmp_path, "server", "token", "create", "x", "--role", "edit", "--to", "-", own_interpreter=True)
    assert printed.code == 0 and printed.out.startswith("stp_")
    wrong = seatunnel(tmp_path, "server", "token", "create", "y", "--role", "edti", "--to", "-", own_interpreter=True)
    assert wrong.code == 1 and "'edit'" in wrong.err
    listed = seatunnel(tmp_path, "server", "token", "list", "--json", own_interpreter=True)
    (one,) = json.loads(listed.out)
    assert (one["name"], one["role"], one["valid"]) == ("x", "edit", True) and printed.out.strip() not in listed.out
    assert seatunnel(tmp_path, "server", "token", "revoke", "x", own_interpreter=True).code == 0
    again = seatunnel(tmp_path, "server", "token", "revoke", "x", own_interpreter=True)
    assert again.code == 1 and "no valid token" in again.err


def test_without_the_extra_the_install_line_is_named(tmp_path: Path) -> None:
    """As a fresh install without it answers."""
    hidden = "import sys; sys.modules['fastapi'] = sys.modules['sqlalchemy'] = None; from seatunnel_py.__main__ import main; main()"
    for words in (["server", "run"], ["server", "token", "list"]):
        done = subprocess.run(
            [sys.executable, "-c", hidden, *words], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 1 and "pip install 'seatunnel-py[server]'" in done.stderr, done.stderr
