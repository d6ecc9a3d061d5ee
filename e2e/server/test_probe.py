"""`seatunnel server probe` against a real server, as a container calls it."""

from __future__ import annotations

import signal
from pathlib import Path

from e2e.server.running import server
from e2e.support import seatunnel
from tests.control.notify.receivers import certificate


def test_a_probe_follows_the_server(tmp_path: Path) -> None:
    """0 while it answers, 1 while it hangs, 2 once it is gone."""
    none = seatunnel(tmp_path, "server", "probe")
    assert none.code == 2 and "no server of" in none.out, none.err
    with server(tmp_path) as (process, url):
        alive = seatunnel(tmp_path, "server", "probe")
        assert alive.code == 0 and f"{url}/livez answers 200" in alive.out, alive.err
        ready = seatunnel(tmp_path, "server", "probe", "--ready")
        assert ready.code == 0 and f"{url}/readyz answers 200" in ready.out, ready.err
        process.send_signal(signal.SIGSTOP)
        hangs = seatunnel(tmp_path, "server", "probe")
        assert hangs.code == 1 and "does not answer within 5 s" in hangs.out, hangs.err
        process.send_signal(signal.SIGCONT)
    assert seatunnel(tmp_path, "server", "probe").code == 2


def test_a_probe_needs_no_token_and_no_name_of_a_server_for_others(tmp_path: Path) -> None:
    """As in a pod: at every address, with a certificate of another name."""
    made, key = certificate(tmp_path, "etl.example.com")
    tls = ("--host", "0.0.0.0", "--tls-certificate", str(made), "--tls-key", str(key))
    with server(tmp_path, *tls):
        found = seatunnel(tmp_path, "server", "probe")
        assert found.code == 0 and "https://127.0.0.1:" in found.out and "answers 200" in found.out, found.err
