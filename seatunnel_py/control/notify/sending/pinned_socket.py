"""Connects to the host of a target: its name is resolved once, each address is checked, and the connection goes to one
of these addresses. A name that has another address at the next look gains nothing."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from seatunnel_py.api.process.egress.address_rules import AllowedAddress, is_named, refused
from seatunnel_py.errors import SeaTunnelError

ATTEMPT_SECONDS = 10.0


class SendError(SeaTunnelError):
    """An event could not be sent. The message names no secret: neither a path nor a query of an address."""


class RefusedAddressError(SendError):
    """The host of a target is at an address that it may not have."""


@dataclass(frozen=True, slots=True)
class TargetRules:
    """``allowed``: inner addresses that targets may have; ``denied``: addresses that they may not have."""

    allowed: Sequence[AllowedAddress] = ()
    denied: Sequence[AllowedAddress] = ()


@dataclass(frozen=True, slots=True)
class HostRoute:
    """The place of a target: ``host`` and ``port``; ``plain``: the connection is not encrypted, so only allowed inner
    addresses are taken."""

    host: str
    port: int
    rules: TargetRules = TargetRules()
    plain: bool = False


class Deadline:
    """The time of one attempt, over all of its steps: a server that sends a byte now and then does not make it
    longer."""

    def __init__(self, seconds: float = ATTEMPT_SECONDS) -> None:
        self._until = time.monotonic() + seconds
        self.passed = False

    @property
    def left(self) -> float:
        """Seconds that are left. Raises SendError after the last one."""
        found = self._until - time.monotonic()
        if found <= 0:
            self.passed = True
            raise SendError("no answer in time")
        return found

    @contextmanager
    def over(self, connection: socket.socket) -> Iterator[None]:
        """End the connection when the time is over, also while TLS is negotiated, or after it was."""
        same = connection.dup()  # TLS takes the descriptor over; a shutdown through another one ends both

        def end() -> None:
            self.passed = True
            with suppress(OSError):
                same.shutdown(socket.SHUT_RDWR)

        timer = threading.Timer(self.left, end)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()
            same.close()


def addresses_of(route: HostRoute) -> Sequence[str]:
    """The addresses of a host, each of them allowed. Raises SendError, and RefusedAddressError."""
    try:
        found = socket.getaddrinfo(route.host, route.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "it is no name of a host"
        raise SendError(f"{route.host} is not found: {reason}") from None
    addresses = list(dict.fromkeys(str(one[4][0]) for one in found))
    for address in addresses:
        require_allowed(address, route)
    return addresses


def require_allowed(address: str, route: HostRoute) -> None:
    """Raise RefusedAddressError for an address that a target may not have."""
    allowed, denied = route.rules.allowed, route.rules.denied
    if is_named(address, route.host, route.port, denied):
        raise RefusedAddressError(
            f"{route.host} is at {address}, an address that egress.deny names",
            "if it is meant, take it out of egress.deny",
        )
    if refused(address, route.host, route.port, allowed):
        raise RefusedAddressError(
            f"{route.host} is at {address}, an address of an inner network",
            f'if it is meant, allow it in the settings: notify.allow = ["{address}:{route.port}"]',
        )
    if route.plain and not is_named(address, route.host, route.port, allowed):
        raise RefusedAddressError(
            f"{route.host} would be reached without TLS", "use https, or TLS for mail; or allow its inner address"
        )


def connected(route: HostRoute, deadline: Deadline) -> socket.socket:
    """A connection to the first address that answers. Raises SendError."""
    why = "it has no address"
    for address in addresses_of(route):
        try:
            return socket.create_connection((address, route.port), timeout=deadline.left)
        except OSError as error:
            why = error.strerror or str(error)
    raise SendError(f"cannot connect to {route.host}:{route.port}: {why}")
