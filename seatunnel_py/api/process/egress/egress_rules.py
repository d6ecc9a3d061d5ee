"""Decides whether a process may connect to an address. Pure.

A rule of ``deny`` counts before one of ``allow``, and both before the mode. Rules travel to drivers, workers and
questions about job files in one variable of their environment.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from seatunnel_py.api.process.egress.address_rules import (
    Address,
    AllowedAddress,
    allowed_address,
    is_inner,
    is_metadata,
    meant,
    named_by,
)

VARIABLE = "SEATUNNEL_EGRESS"


class EgressMode(StrEnum):
    """Which addresses are refused that no rule names."""

    ANY = "any"
    NO_METADATA = "no-metadata"
    DENY_PRIVATE = "deny-private"
    ALLOW_LIST = "allow-list"


@dataclass(frozen=True)
class Egress:
    """``allow`` and ``deny``: networks, addresses and names of hosts, with or without a port."""

    mode: EgressMode = EgressMode.NO_METADATA
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Egress:
        """From the variable of the environment. Raises ValueError."""
        plain = json.loads(text)
        found = cls(EgressMode(plain["mode"]), tuple(plain["allow"]), tuple(plain["deny"]))
        assert found.allowed is not None and found.denied is not None  # a wrong rule is found now
        return found

    @property
    def text(self) -> str:
        """For the variable of the environment."""
        return json.dumps({"mode": self.mode.value, "allow": self.allow, "deny": self.deny})

    @cached_property
    def allowed(self) -> Sequence[AllowedAddress]:
        """The rules of ``allow``. Raises ValueError."""
        return tuple(map(allowed_address, self.allow))

    @cached_property
    def denied(self) -> Sequence[AllowedAddress]:
        """The rules of ``deny``. Raises ValueError."""
        return tuple(map(allowed_address, self.deny))

    @property
    def hosts(self) -> frozenset[str]:
        """The names of hosts in rules."""
        return frozenset(rule.host for rule in (*self.allowed, *self.denied) if rule.host)

    def why_refused(self, address: str, hosts: Iterable[str], port: int) -> str:
        """Why a connection to an address is refused, as in ``a link-local address``; empty: it is not. ``hosts``: the
        names that were resolved to it."""
        known = tuple(hosts) or ("",)
        return next(filter(None, (self._why(one, known, port) for one in meant(address))), "")

    def _why(self, address: Address, hosts: Sequence[str], port: int) -> str:
        if named_by(self.denied, address, hosts, port):
            return "an address that egress.deny names"
        if named_by(self.allowed, address, hosts, port) or self.mode is EgressMode.ANY:
            return ""
        if is_metadata(address):
            return "a link-local address, or one of a cloud's metadata"
        if self.mode is EgressMode.DENY_PRIVATE and is_inner(address):
            return "an address of an inner network"
        return "an address that egress.allow does not name" if self.mode is EgressMode.ALLOW_LIST else ""
