"""Checks the hosts in the options of a Spark format. Spark's own clients are not Python: they resolve a name again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from seatunnel_py.api import reachable_addresses

_AUTHORITY = re.compile(r"//(?:[^/?#@\s]*@)?([^/?#\s]+)")
_PLACE = re.compile(r"(?:\[(?P<bracketed>[^\]]+)\]|(?P<host>[^:\[\]]+))(?::(?P<port>\d{1,5}))?")
_LISTS = ("bootstrap.servers", "hosts", "host", "nodes")


def require_places(options: Mapping[str, str]) -> None:
    """Raise EgressError for a host that the server's rules refuse."""
    for name, value in options.items():
        for host, port in _places(name.lower(), value):
            reachable_addresses(host, port)


def _places(name: str, value: str) -> Iterator[tuple[str, int]]:
    listed = [found[1] for found in _AUTHORITY.finditer(value)]
    if not listed and name.endswith(_LISTS):
        listed = [value]
    for text in (one.strip() for group in listed for one in group.split(",")):
        if found := _PLACE.fullmatch(text):
            yield found["bracketed"] or found["host"], int(found["port"] or 0)
