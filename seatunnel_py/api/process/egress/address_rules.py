"""Rules of addresses, and to which network an address belongs: an inner one, its own link, a cloud's metadata. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Address = IPv4Address | IPv6Address
_RULE = re.compile(r"(?:\[(?P<bracketed>[^\]]+)\]|(?P<host>[^\[\]]+?))(?::(?P<port>\d{1,5}))?")
_NAME = re.compile(r"(?=.{1,253}\.?$)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.?)+", re.IGNORECASE)
_NAT64 = IPv6Network("64:ff9b::/96")
_METADATA = frozenset(
    map(ip_address, ("169.254.169.254", "100.100.100.200", "192.0.0.192", "168.63.129.16", "fd00:ec2::254"))
)
"""A cloud hands out the credentials of a machine there; not all of these addresses are link-local."""


@dataclass(frozen=True, slots=True)
class AllowedAddress:
    """An address that a rule names: a network or the name of a host; ``port``: only this one, None: any."""

    network: IPv4Network | IPv6Network | None
    host: str
    port: int | None

    def allows(self, address: Address, host: str, port: int) -> bool:
        """Whether this rule names an address to which a host was resolved."""
        if self.port is not None and self.port != port:
            return False
        if self.network is None:
            return self.host == host.rstrip(".").lower()
        return address in self.network


def allowed_address(text: str) -> AllowedAddress:
    """Read a rule: ``10.1.2.0/24``, ``127.0.0.1:8080``, ``[fd00::1]:443`` or ``hooks.corp:443``. Raises ValueError."""
    bare = text.strip()
    if bare.count(":") > 1 and not bare.startswith("["):
        bare = f"[{bare}]"  # an address of IPv6 alone
    match = _RULE.fullmatch(bare)
    if match is None or (match["port"] is not None and not 0 < int(match["port"]) < 65_536):
        raise ValueError(f"{text!r} is neither an address nor a network nor the name of a host")
    host, port = match["bracketed"] or match["host"], int(match["port"]) if match["port"] else None
    try:
        return AllowedAddress(ip_network(host, strict=False), "", port)
    except ValueError:
        if not _NAME.fullmatch(host) or re.fullmatch(r"[\d./]+", host):
            raise ValueError(f"{text!r} is neither an address nor a network nor the name of a host") from None
    return AllowedAddress(None, host.rstrip(".").lower(), port)


def refused(address: str, host: str, port: int, rules: Collection[AllowedAddress]) -> bool:
    """Whether a target may not have this address, to which its host was resolved."""
    return any(is_inner(one) and not named_by(rules, one, (host,), port) for one in meant(address))


def is_named(address: str, host: str, port: int, rules: Collection[AllowedAddress]) -> bool:
    """Whether a rule names this address."""
    return any(named_by(rules, one, (host,), port) for one in meant(address))


def named_by(rules: Collection[AllowedAddress], address: Address, hosts: Collection[str], port: int) -> bool:
    """Whether a rule names this address, to which these hosts were resolved."""
    return any(rule.allows(address, host, port) for rule in rules for host in hosts)


def is_inner(address: Address) -> bool:
    """Whether an address is not one of the public network."""
    return not address.is_global or address.is_multicast


def is_metadata(address: Address) -> bool:
    """Whether an address is link-local, or one at which a cloud hands out the credentials of a machine."""
    return address.is_link_local or address in _METADATA


def meant(text: str) -> list[Address]:
    """The addresses that packets may reach: forms of IPv6 may hold one of IPv4."""
    address = ip_address(text.partition("%")[0])
    if isinstance(address, IPv4Address):
        return [address]
    held: list[Address | None] = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    if address in _NAT64 or 1 < int(address) < 2**32:
        held.append(IPv4Address(int(address) & 0xFFFFFFFF))
    return (
        [address, *(one for one in held if one is not None)] if address.ipv4_mapped is None else [address.ipv4_mapped]
    )
