"""Positions in a log, from which a dump can go on: the start of a transaction, and what was taken of it.

File and offset are valid on one server only, sets of transactions on all servers of a replication: positions have an
order only within a server (F-C24).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from seatunnel_connectors.mysql_cdc.log.gtid_list import GtidList
from seatunnel_connectors.mysql_cdc.log.gtid_set import GtidSet
from seatunnel_py.api import Plain

Gtids = GtidSet | GtidList
Place = tuple[int, int, int]
"""A place in the log of one server, in its order: number of the file, start of a transaction, events taken of it."""
_MARIADB, _MYSQL = "mariadb", "mysql"


@dataclass(frozen=True, slots=True)
class BinlogPosition:
    """``offset`` is where the current transaction begins in ``file``; ``events`` counts its rows events that were taken
    whole, and ``rows`` the rows of the next one. ``gtids`` holds all transactions before; None where the log has none.
    ``server`` is the uuid of the server that file and offset belong to."""

    file: str
    offset: int
    gtids: Gtids | None = None
    events: int = 0
    rows: int = 0
    server: str = ""

    @property
    def place(self) -> Place:
        """Without a file: before every place that has one."""
        return file_number(self.file), self.offset, self.events

    def to_plain(self) -> dict[str, Plain]:
        """As a checkpoint holds it."""
        plain: dict[str, Plain] = {
            "file": self.file, "offset": self.offset, "events": self.events, "rows": self.rows, "server": self.server,
        }  # fmt: skip
        if self.gtids is not None:
            plain["gtids"] = str(self.gtids)
            plain["flavor"] = _MARIADB if isinstance(self.gtids, GtidList) else _MYSQL
        return plain

    @staticmethod
    def of(plain: Mapping[str, Plain]) -> BinlogPosition:
        """The inverse of ``to_plain``. Raises ValueError or KeyError for anything else."""
        gtids: Gtids | None = None
        if "gtids" in plain:
            text = str(plain["gtids"])
            gtids = GtidList.parse(text) if plain["flavor"] == _MARIADB else GtidSet.parse(text)
        offset, events, rows = (_whole(plain, name) for name in ("offset", "events", "rows"))
        return BinlogPosition(str(plain["file"]), offset, gtids, events, rows, str(plain["server"]))


def has_all(known: Gtids | None, other: Gtids | None) -> bool:
    """Whether the transactions of ``other`` are among ``known``: the only order that places of two servers have."""
    if isinstance(known, GtidSet) and isinstance(other, GtidSet):
        return known.contains(other)
    return isinstance(known, GtidList) and isinstance(other, GtidList) and known.contains(other)


def file_number(file: str) -> int:
    """The number that a server gives its files in order; -1 without a file."""
    digits = file.rpartition(".")[2]
    return int(digits) if digits.isdigit() else -1


def _whole(plain: Mapping[str, Plain], name: str) -> int:
    value = plain[name]
    if type(value) is not int:
        raise ValueError(f"the position holds no whole number {name!r}: {value!r}")
    return value
