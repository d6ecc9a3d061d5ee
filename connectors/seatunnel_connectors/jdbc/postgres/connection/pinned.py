"""Connects to addresses that the server's rules allow: libpq would resolve the names of hosts a second time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from seatunnel_py.api import reachable_addresses

_PORT = "5432"


def connection(info: str, **more: Any) -> psycopg.Connection[tuple[Any, ...]]:
    """A session in autocommit. Raises EgressError."""
    return psycopg.connect(pinned(info), autocommit=True, **more)


def pinned(info: str) -> str:
    """The connection string with ``hostaddr``; unchanged without rules. Raises EgressError."""
    words = conninfo_to_dict(info)
    hosts = str(words.get("host") or "").split(",")
    ports = str(words.get("port") or _PORT).split(",")
    if len(ports) < len(hosts):
        ports = ports[:1] * len(hosts)
    found = [place for host, port in zip(hosts, ports, strict=True) for place in _places(host, port)]
    if not any(address for _, _, address in found):
        return info
    host, port, address = (",".join(column) for column in zip(*found, strict=True))
    return make_conninfo(info, host=host, port=port, hostaddr=address)


def _places(host: str, port: str) -> Iterator[tuple[str, str, str]]:
    """Each address of a host; the host alone, if it is a socket file or there are no rules."""
    addresses = () if host.startswith(("/", "@")) or not host else reachable_addresses(host, int(port))
    for address in addresses or ("",):
        yield host, port, address
