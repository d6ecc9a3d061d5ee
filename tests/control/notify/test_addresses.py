"""T4: no target is at an inner address, unless the settings allow exactly that."""

from __future__ import annotations

import socket
from ipaddress import IPv4Address, IPv4Network, IPv6Address, ip_network
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatunnel_py.api.process.egress.address_rules import allowed_address, refused
from seatunnel_py.control.notify.sending.attempt import attempt
from seatunnel_py.control.notify.sending.pinned_socket import RefusedAddressError
from seatunnel_py.control.notify.target_book import TargetBook, taken
from seatunnel_py.errors import JobFileError
from tests.control.notify.receivers import web_receiver
from tests.control.notify.settings_files import ENVIRONMENT, target_of, written
from tests.control.notify.test_sending import NOW, event

INNER = [
    "127.0.0.1", "127.8.9.1", "0.0.0.0", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1",
    "224.0.0.1", "255.255.255.255", "192.0.2.1", "198.18.0.1", "::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1",
    "fd12::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe",
    "2002:7f00:1::1", "2002:a00:1::", "::127.0.0.1", "2001:0:4136:e378:8000:63bf:f5ff:fffe",
]  # fmt: skip
OUTER = ["1.1.1.1", "93.184.216.34", "2606:4700:4700::1111", "::ffff:1.1.1.1", "64:ff9b::101:101", "2002:101:101::1"]


@pytest.mark.parametrize("address", INNER)
def test_t4_an_inner_address_is_refused_in_every_form(address: str) -> None:
    assert refused(address, "hooks.example.com", 443, [])


@pytest.mark.parametrize("address", OUTER)
def test_t4_an_outer_address_is_taken(address: str) -> None:
    assert not refused(address, "hooks.example.com", 443, [])


@given(st.ip_addresses(v=4), st.sampled_from(["::ffff:{}", "64:ff9b::{}", "::{}"]))
def test_t4_an_address_of_ipv4_is_refused_in_ipv6_if_it_is_refused_alone(address: IPv4Address, form: str) -> None:
    if refused(str(address), "h", 443, []):
        assert refused(form.format(address), "h", 443, [])


@given(st.ip_addresses(v=4), st.integers(0, 32), st.integers(1, 65_535), st.integers(1, 65_535))
def test_t4_a_rule_allows_its_network_and_its_port_only(address: IPv4Address, bits: int, port: int, other: int) -> None:
    network = ip_network(f"{address}/{bits}", strict=False)
    rule = allowed_address(f"{network}:{port}")
    assert isinstance(network, IPv4Network) and rule.allows(address, "h", port)
    assert rule.allows(address, "h", other) is (other == port)
    outside = IPv4Address((int(network.broadcast_address) + 1) % 2**32)
    assert rule.allows(outside, "h", port) is (bits == 0)


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [("hooks.corp", "hooks.corp", 80), ("Hooks.Corp.", "hooks.corp", 443), ("hooks.corp:8080", "hooks.corp", 8080)],
)
def test_t4_a_rule_may_be_the_name_of_a_host(text: str, host: str, port: int) -> None:
    rule = allowed_address(text)
    assert rule.allows(IPv4Address("10.0.0.1"), host, port)
    assert not rule.allows(IPv4Address("10.0.0.1"), "other.corp", port)
    assert rule.allows(IPv6Address("fd00::1"), host, 81) is (rule.port is None)


@pytest.mark.parametrize(
    "text", ["", " ", "10.0.0.300", "10.0.0.1:0", "10.0.0.1:99999", "a b", "http://x", "[::1", "*"]
)
def test_a_rule_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="neither"):
        allowed_address(text)


@pytest.mark.parametrize("text", ["::1", "[::1]:443", "fd00::/8", "[fd00::/8]:25"])
def test_a_rule_may_be_of_ipv6(text: str) -> None:
    assert allowed_address(text).network is not None


def hook(url: str) -> str:
    return f'x {{ type = webhook, url = "{url}", secret = "${{env:HOOK_SECRET}}" }}'


@pytest.mark.parametrize(
    "url",
    [
        "https://10.0.0.1/x",
        "https://[::1]/x",
        "https://169.254.169.254/latest",
        "https://localhost/x",
        "http://1.1.1.1/",
    ],
)
def test_t4_an_inner_address_is_refused_when_settings_are_read(tmp_path: Path, url: str) -> None:
    """So is one that would be reached without TLS. The message names the way to allow it."""
    file = tmp_path / "server.conf"
    file.write_text(f"notify {{ targets {{ {hook(url)} }} }}")
    with pytest.raises((JobFileError, RefusedAddressError)) as found:
        taken(file, ENVIRONMENT)
    assert "inner network" in str(found.value) or "without TLS" in str(found.value)
    assert "notify.targets.x" in str(found.value)


def test_t4_a_mail_server_is_checked_as_a_webhook_is(tmp_path: Path) -> None:
    file = tmp_path / "server.conf"
    text = 'x { type = mail, host = "10.0.0.5", port = 25, tls = none, from = "a@x.org", to = ["b@x.org"] }'
    file.write_text(f"notify {{ targets {{ {text} }} }}")
    with pytest.raises(JobFileError, match=r'notify\.allow = \["10\.0\.0\.5:25"\]'):
        taken(file, ENVIRONMENT)
    file.write_text(f'notify {{ allow = ["10.0.0.5:25"], targets {{ {text} }} }}')
    assert taken(file, ENVIRONMENT).targets["x"].shown == "smtp://10.0.0.5:25"


def test_t4_a_name_is_looked_up_once_for_each_connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """U29: A name that is outside at its check, and inside right after it, is connected to where it was checked."""
    answers = ["93.184.216.34", "10.0.0.7"]
    asked: list[str] = []
    connected: list[Any] = []

    def looked_up(host: str, port: int, **_: Any) -> list[Any]:
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (answers[min(len(asked) - 1, 1)], port))]

    def connect(address: tuple[str, int], timeout: float) -> socket.socket:
        connected.append(address)
        raise ConnectionRefusedError(111, "Connection refused")

    target = target_of(tmp_path, hook("https://rebound.example.com/x"))
    monkeypatch.setattr(socket, "getaddrinfo", looked_up)
    monkeypatch.setattr(socket, "create_connection", connect)
    assert "cannot connect" in attempt(target, event(), NOW).error
    assert (asked, connected) == (["rebound.example.com"], [("93.184.216.34", 443)])
    assert "inner network" in attempt(target, event(), NOW).error
    assert connected == [("93.184.216.34", 443)], "nothing is sent to the inner address"


def test_t4_one_inner_address_of_a_name_refuses_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, 443)) for one in ("93.184.216.34", "192.168.0.1")]
    target = target_of(tmp_path, hook("https://two.example.com/x"))
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    assert "192.168.0.1, an address of an inner network" in attempt(target, event(), NOW).error


def test_t4_no_proxy_of_the_environment_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with web_receiver() as proxy, web_receiver() as receiver:
        for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        target = target_of(tmp_path, hook(f"http://127.0.0.1:{receiver.port}/x"))
        assert attempt(target, event(), NOW).sent
        assert (len(proxy.received), len(receiver.received)) == (0, 1)


def test_a_name_that_cannot_be_looked_up_does_not_stop_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does one whose look-up hangs."""

    def fails(*_: Any, **__: Any) -> Any:
        raise socket.gaierror(-3, "Temporary failure in name resolution")

    monkeypatch.setattr(socket, "getaddrinfo", fails)
    book = TargetBook(written(tmp_path, hook("https://away.example.com/x")), ENVIRONMENT)
    result = attempt(book.settings.targets["x"], event(), NOW)
    assert result.error == "away.example.com is not found: Temporary failure in name resolution"
