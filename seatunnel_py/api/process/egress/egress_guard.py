"""Refuses connections of this process to addresses that the server's rules refuse.

Rules. (1) A connection of Python code is checked where it is made, with the address that it goes to: a name that has
another address at the next look gains nothing. (2) A client that is not Python code resolves a name by
``reachable_addresses`` and connects to an address of the result. (3) Spark's own services are always reached: they are
processes that the driver has started, and have its mark in their environment; workers call their driver within
``own_connections``. (4) A job is code: this keeps the addresses in job files in bounds, and does not hold back code
that a job brings along.
"""

from __future__ import annotations

import os
import secrets
import socket
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from ipaddress import ip_address
from typing import Any

from seatunnel_py.api.process.egress.egress_rules import VARIABLE, Egress
from seatunnel_py.api.process.port_owner import PROC, listener
from seatunnel_py.errors import FatalError, RetriableError

OWN_VARIABLE = "SEATUNNEL_EGRESS_OWN"
_CONNECTS = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg"})
_FAMILIES = frozenset({socket.AF_INET, socket.AF_INET6})
_found: dict[str, Egress] = {}
_watching: list[bool] = []
_thread = threading.local()


class EgressError(FatalError):
    """The rules of the server refuse a connection."""


def current() -> Egress | None:
    """The rules of this process; None: there are none. Raises EgressError for rules that cannot be read."""
    text = os.environ.get(VARIABLE)
    if not text:
        return None
    if text not in _found:
        try:
            _found[text] = Egress.parse(text)
        except (ValueError, KeyError, TypeError) as error:
            raise EgressError(f"{VARIABLE} is not understood: {error}", "start the job through its server") from None
    return _found[text]


def watch() -> None:
    """Check each connection of Python code from now on, if there are rules. Idempotent."""
    if os.environ.get(VARIABLE) and not _watching:
        os.environ.setdefault(OWN_VARIABLE, secrets.token_hex(8))
        _watching.append(True)
        sys.addaudithook(_look)


@contextmanager
def own_connections() -> Iterator[None]:
    """Connections of this thread within the block are those between a driver and its workers."""
    _thread.own = True
    try:
        yield
    finally:
        _thread.own = False


def reachable_addresses(host: str, port: int) -> Sequence[str]:
    """The addresses of a host, each of them allowed; empty without rules: the client resolves it itself. Raises
    EgressError, and RetriableError for a host that is not found."""
    rules = current()
    if rules is None:
        return ()
    try:
        found = _addresses(host, port)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no name of a host"
        raise RetriableError(f"{host} is not found: {reason}", "check the name of the host") from None
    for address in found:
        _require(rules, address, port, host)
    return found


def _look(event: str, arguments: tuple[Any, ...]) -> None:
    if event not in _CONNECTS or getattr(_thread, "own", False):
        return
    connection, place = arguments[0], arguments[1]
    if not isinstance(place, tuple) or connection.family not in _FAMILIES:
        return  # within this machine, or connected before
    try:
        _require_all(str(place[0]), int(place[1]))
    except EgressError:
        connection.close()  # its owner closes it after errors of the system only
        raise


def _require_all(host: str, port: int) -> None:
    rules = current()
    if rules is not None:
        for address in _literal(host):
            _require(rules, address, port, host)


def _literal(host: str) -> Sequence[str]:
    """An address; those of a name, for a client that does not look it up itself."""
    try:
        ip_address(host.partition("%")[0])
    except ValueError:
        with suppress(OSError, UnicodeError):
            return _addresses(host or "0.0.0.0", 0)
        return ()  # the connection will fail for the same reason
    return [host]


def _require(rules: Egress, address: str, port: int, host: str) -> None:
    names = {host.rstrip(".").lower(), *(name for name in rules.hosts if address in _quietly(name))}
    why = rules.why_refused(address, names, port)
    if not why or _is_own(address, port):
        return
    shown = address if host == address else f"{host} is at {address}, and it"
    raise EgressError(
        f"{shown} is {why}: this server refuses connections to it",
        f'if it is meant, allow it in the settings of the server: egress.allow = ["{_written(address)}:{port}"]',
    )


def _written(address: str) -> str:
    return f"[{address}]" if ":" in address else address


def _addresses(host: str, port: int) -> Sequence[str]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(one[4][0]) for one in found))


def _quietly(name: str) -> Sequence[str]:
    with suppress(OSError, UnicodeError):
        return _addresses(name, 0)
    return ()


def _is_own(address: str, port: int) -> bool:
    """Whether a process of this driver listens there, such as its JVM: it has inherited the mark."""
    if not ip_address(address.partition("%")[0]).is_loopback:
        return False
    mark = f"{OWN_VARIABLE}={os.environ.get(OWN_VARIABLE, '')}".encode()

    def ours(pid: int) -> bool:
        return pid == os.getpid() or mark in (PROC / str(pid) / "environ").read_bytes().split(b"\0")

    return OWN_VARIABLE in os.environ and listener(port, ours) is not None
