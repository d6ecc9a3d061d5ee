"""MariaDB's transaction ids: domain, server and sequence; a position names the last one of each domain."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

_GTID = re.compile(r"(\d+)-(\d+)-(\d+)")


class MariadbGtidId(NamedTuple):
    """``domain-server-sequence``."""

    domain: int
    server: int
    sequence: int

    def __str__(self) -> str:
        return f"{self.domain}-{self.server}-{self.sequence}"


@dataclass(frozen=True, slots=True)
class GtidList:
    """The last transaction of each domain."""

    last: Mapping[int, MariadbGtidId] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> GtidList:
        """Read ``0-1-100,1-2-30``. Raises ValueError for any other text, and for a domain that stands twice."""
        found: dict[int, MariadbGtidId] = {}
        for part in filter(None, (one.strip() for one in text.split(","))):
            match = _GTID.fullmatch(part)
            if match is None:
                raise ValueError(f"{part!r} is not a transaction of MariaDB: write domain-server-sequence")
            gtid = MariadbGtidId(*map(int, match.groups()))
            if gtid.domain in found:
                raise ValueError(f"{text!r} names domain {gtid.domain} twice")
            found[gtid.domain] = gtid
        return cls(dict(sorted(found.items())))

    def __str__(self) -> str:
        return ",".join(str(one) for one in self.last.values())

    def contains(self, other: GtidList) -> bool:
        """Whether each domain has come at least as far. Transactions of a domain are numbered, whatever server they
        come from: only a server's log shows that it holds the very same ones."""
        return all(
            domain in self.last and self.last[domain].sequence >= one.sequence for domain, one in other.last.items()
        )
