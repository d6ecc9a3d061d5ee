"""T3: what a server's rules of addresses refuse is not connected to: in each form, by each kind of client."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import psycopg
import pymysql
import pytest

from seatunnel_connectors.jdbc.mysql.connection.session import reading_url
from seatunnel_connectors.jdbc.postgres.connection.pinned import pinned
from seatunnel_connectors.jdbc.url import parse_url
from seatunnel_connectors.kafka.client.client import Cluster
from seatunnel_py.api.process.egress.egress_guard import OWN_VARIABLE, EgressError, reachable_addresses, watch
from seatunnel_py.api.process.egress.egress_rules import VARIABLE, Egress, EgressMode
from seatunnel_py.control.launching import environment_of
from seatunnel_py.errors import RetriableError
from seatunnel_py.spark.plugins.option_places import require_places

METADATA = ["169.254.169.254", "169.254.0.9", "100.100.100.200", "168.63.129.16", "fe80::1", "fd00:ec2::254"]
IN_IPV6 = ["::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1"]
INNER = ["10.0.0.1", "127.0.0.1", "192.168.1.1", "fd12::1", "::1", "0.0.0.0"]
OUTER = ["1.1.1.1", "2606:4700:4700::1111"]
ANY, NO_METADATA, DENY_PRIVATE, ALLOW_LIST = EgressMode


PROGRAM = """
import select, socket, sys
with socket.create_server(("127.0.0.1", 0)) as server:
    print(server.getsockname()[1], flush=True)
    count = 0
    while True:
        ready = select.select([server, sys.stdin], [], [])[0]
        if server in ready:
            server.accept()[0].close()
            count += 1
        elif ready:
            break
print(count, flush=True)
"""


@dataclass
class Listener:
    """A service of this machine; one that is ``ours`` was started by this process."""

    child: subprocess.Popen[str]
    port: int

    def seen(self) -> int:
        """End it, and return how many connections came."""
        rest, _ = self.child.communicate()
        return int(rest)


@contextmanager
def listening(*, ours: bool = False) -> Iterator[Listener]:
    words, pipe = [sys.executable, "-c", PROGRAM], subprocess.PIPE
    environment = {name: value for name, value in os.environ.items() if ours or name != OWN_VARIABLE}
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True, start_new_session=True, env=environment) as child:
        assert child.stdout is not None
        try:
            yield Listener(child, int(child.stdout.readline()))
        finally:
            child.kill()


@pytest.fixture
def listener() -> Iterator[Listener]:
    with listening() as found:
        yield found


@pytest.fixture
def rules(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Set the rules of this process, as a server does for its drivers."""

    def set_rules(mode: EgressMode = NO_METADATA, allow: tuple[str, ...] = (), deny: tuple[str, ...] = ()) -> None:
        monkeypatch.setenv(VARIABLE, Egress(mode, allow, deny).text)
        monkeypatch.setenv(OWN_VARIABLE, "of-this-test")
        watch()

    return set_rules


@pytest.mark.parametrize("address", [*METADATA, *IN_IPV6])
def test_t3_metadata_is_refused_unless_it_is_allowed(address: str) -> None:
    assert Egress().why_refused(address, (), 80)
    for mode in (NO_METADATA, DENY_PRIVATE, ALLOW_LIST):
        assert Egress(mode).why_refused(address, (), 80)
    assert not Egress(ANY).why_refused(address, (), 80)
    named = Egress(allow=("169.254.0.0/16:80", "100.100.100.200", "168.63.129.16", "fe80::/10", "fd00:ec2::254"))
    if address not in IN_IPV6:
        assert not named.why_refused(address, (), 80)


@pytest.mark.parametrize("address", [*INNER, *OUTER])
def test_t3_a_mode_decides_about_addresses_that_no_rule_names(address: str) -> None:
    inner = address in INNER
    assert not Egress().why_refused(address, (), 5432)
    assert bool(Egress(DENY_PRIVATE).why_refused(address, (), 5432)) is inner
    assert Egress(ALLOW_LIST).why_refused(address, (), 5432)
    assert not Egress(ALLOW_LIST, allow=(address,)).why_refused(address, (), 5432)
    assert Egress(ANY, allow=(address,), deny=(address,)).why_refused(address, (), 5432)


def test_t3_a_rule_names_a_host_or_a_port() -> None:
    found = Egress(ALLOW_LIST, allow=("db.corp:5432",), deny=("evil.corp",))
    assert not found.why_refused("10.0.0.1", ("db.corp",), 5432)
    assert found.why_refused("10.0.0.1", ("db.corp",), 5433)
    assert found.why_refused("10.0.0.1", ("db.corp", "evil.corp"), 5432)
    assert Egress.parse(found.text) == found


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1", "2130706433", "0x7f.1", "localhost", "LOCALHOST"])
def test_t3_a_connection_of_python_code_is_refused_in_every_form(
    rules: Callable[..., None], listener: Listener, host: str
) -> None:
    rules(deny=("127.0.0.0/8", "::1"))
    with pytest.raises(EgressError, match=r"127\.0\.0\.1|::1") as raised:
        socket.create_connection((host, listener.port), timeout=5)
    assert "egress.deny" in raised.value.message and "egress.allow" in raised.value.remedy
    with socket.socket() as direct, pytest.raises(EgressError):
        direct.connect((host, listener.port))
    with socket.socket() as direct, pytest.raises(EgressError):
        direct.connect_ex((host, listener.port))
    assert listener.seen() == 0


def test_t3_what_no_rule_refuses_is_connected_to(rules: Callable[..., None], listener: Listener) -> None:
    for chosen in ({}, {"mode": ANY}, {"mode": ALLOW_LIST, "allow": (f"127.0.0.1:{listener.port}",)}):
        rules(**chosen)
        socket.create_connection(("127.0.0.1", listener.port), timeout=5).close()


def test_t3_a_name_that_changes_its_address_gains_nothing(
    rules: Callable[..., None], listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A resolver that answers with an allowed address first, and with an inner one at the next look."""
    rules(DENY_PRIVATE)
    real, looks = socket.getaddrinfo, []

    def rebinding(host: Any, *more: Any, **named: Any) -> Any:
        if host != "rebind.example":
            return real(host, *more, **named)
        looks.append(host)
        return real("1.1.1.1" if len(looks) == 1 else "127.0.0.1", *more, **named)

    monkeypatch.setattr(socket, "getaddrinfo", rebinding)
    info = pinned(f"host=rebind.example port={listener.port} dbname=x")
    assert "hostaddr=1.1.1.1" in info and len(looks) == 1
    with pytest.raises(EgressError, match="rebind.example is at 127.0.0.1"):
        pinned(f"host=rebind.example port={listener.port} dbname=x")
    with pytest.raises(EgressError):
        socket.create_connection(("rebind.example", listener.port), timeout=5)
    assert listener.seen() == 0


def test_t3_a_redirect_to_a_refused_address_is_not_followed(rules: Callable[..., None], listener: Listener) -> None:
    class Redirecting(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(302)
            self.send_header("Location", f"http://127.0.0.2:{listener.port}/latest/meta-data")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Not shown."""

    server = HTTPServer(("127.0.0.1", 0), Redirecting)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    rules(deny=("127.0.0.2",))
    try:
        with pytest.raises(EgressError, match=r"127\.0\.0\.2"):
            urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/", timeout=5)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    assert listener.seen() == 0


def test_t3_clients_that_are_not_python_code_get_a_checked_address(
    rules: Callable[..., None], listener: Listener
) -> None:
    """libpq, librdkafka, ConnectorX and Spark's own clients open their sockets themselves."""
    rules(deny=("127.0.0.0/8", "::1"))
    place = f"localhost:{listener.port}"
    for attempt in (
        lambda: psycopg.connect(pinned(f"host=localhost port={listener.port} connect_timeout=5")),
        lambda: psycopg.connect(pinned(f"host=1.1.1.1,localhost port={listener.port} connect_timeout=5")),
        lambda: pymysql.connect(host="localhost", port=listener.port, connect_timeout=5),
        lambda: reading_url(parse_url(f"jdbc:mysql://{place}/shop")),
        lambda: Cluster.of(f"1.1.1.1:9092, PLAINTEXT://{place}", {}).settings(),
        lambda: require_places({"url": f"jdbc:postgresql://{place}/shop"}),
        lambda: require_places({"kafka.bootstrap.servers": f"1.1.1.1:9092,{place}"}),
    ):
        with pytest.raises(EgressError, match=r"localhost is at|127\.0\.0\.1 is|::1 is"):
            attempt()
    rules()
    with pytest.raises(psycopg.OperationalError):  # the listener speaks no PostgreSQL, but is reached
        psycopg.connect(pinned(f"host=localhost port={listener.port} connect_timeout=5"))
    assert listener.seen() == 1
    assert reading_url(parse_url(f"jdbc:mysql://{place}/shop")).split("@")[1].startswith(("127.0.0.1:", "[::1]:"))


def test_t3_spark_of_the_driver_is_reached_where_this_machine_is_refused(rules: Callable[..., None]) -> None:
    """A process that this one has started listens; the same program of another one is refused."""
    for chosen in ({"mode": DENY_PRIVATE}, {"mode": ALLOW_LIST}, {"deny": ("127.0.0.0/8",)}):
        rules(**chosen)
        with listening(ours=True) as own:
            socket.create_connection(("127.0.0.1", own.port), timeout=5).close()
            assert own.seen() == 1
        with listening() as other:
            with pytest.raises(EgressError):
                socket.create_connection(("127.0.0.1", other.port), timeout=5)
            assert other.seen() == 0


def test_t3_without_rules_nothing_is_resolved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert not reachable_addresses("no.such.name.invalid", 1)
    assert pinned("host=no.such.name.invalid dbname=x") == "host=no.such.name.invalid dbname=x"


def test_t3_a_host_that_is_not_found_may_be_found_later(rules: Callable[..., None]) -> None:
    rules()
    with pytest.raises(RetriableError, match="no.such.name.invalid is not found"):
        reachable_addresses("no.such.name.invalid", 1)


def test_t3_rules_that_cannot_be_read_refuse_everything(
    monkeypatch: pytest.MonkeyPatch, rules: Callable[..., None], listener: Listener
) -> None:
    rules()
    monkeypatch.setenv(VARIABLE, '{"mode": "no-metadata", "allow": ["a b"], "deny": []}')
    with pytest.raises(EgressError, match="not understood"):
        socket.create_connection(("127.0.0.1", listener.port), timeout=5)
    assert listener.seen() == 0


def test_t3_drivers_get_the_rules_of_their_server(tmp_path: Path) -> None:
    assert environment_of({VARIABLE: "x", "OTHER": "y"}, (), tmp_path)[VARIABLE] == "x"
