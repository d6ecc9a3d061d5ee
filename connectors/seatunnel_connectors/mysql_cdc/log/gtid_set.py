"""Sets of MySQL's global transaction ids: intervals of numbers for each source's uuid, and tag where there is one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from uuid import UUID

from seatunnel_connectors.mysql_cdc.failures import BinlogFormatError
from seatunnel_connectors.mysql_cdc.log.byte_reader import ByteReader
from seatunnel_connectors.mysql_cdc.log.variable_integers import read_unsigned, write_unsigned

Source = tuple[str, str]
"""The uuid of a server, and the tag of its transactions or the empty text."""
Interval = tuple[int, int]
"""The first number, and the one after the last."""
_TAG = re.compile(r"[a-z_][a-z0-9_]{0,31}")
_TAGGED_FORMAT = 1
_COUNT_MASK = (1 << 48) - 1


@dataclass(frozen=True, slots=True)
class GtidSet:
    """Immutable. Intervals are sorted, and neither overlap nor touch."""

    intervals: Mapping[Source, tuple[Interval, ...]] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> GtidSet:
        """Read ``uuid:1-5:7,uuid:tag:1-3``. Raises ValueError for any other text."""
        found: dict[Source, list[Interval]] = {}
        for part in filter(None, (one.strip() for one in text.split(","))):
            uuid, *rest = (one.strip() for one in part.split(":"))
            source = (str(UUID(uuid)), "")
            if not rest:
                raise ValueError(f"{part!r} is not a set of transactions: write uuid:1-5")
            for one in rest:
                if _TAG.fullmatch(one.lower()):
                    source = (source[0], one.lower())
                    continue
                first, _, last = one.partition("-")
                begin, end = int(first), int(last or first) + 1
                if not 0 < begin < end:
                    raise ValueError(f"{one!r} is not a range of transaction numbers")
                found.setdefault(source, []).append((begin, end))
        return cls({source: _merged(some) for source, some in sorted(found.items())})

    def __str__(self) -> str:
        texts: dict[str, list[str]] = {}
        for (uuid, tag), some in sorted(self.intervals.items()):
            shown = [str(first) if end == first + 1 else f"{first}-{end - 1}" for first, end in some]
            texts.setdefault(uuid, []).append(":".join([tag, *shown] if tag else shown))
        return ",".join(f"{uuid}:{':'.join(parts)}" for uuid, parts in texts.items())

    def union(self, other: GtidSet) -> GtidSet:
        sources = sorted(self.intervals.keys() | other.intervals.keys())
        return GtidSet({one: _merged([*self.intervals.get(one, ()), *other.intervals.get(one, ())]) for one in sources})

    def contains(self, other: GtidSet) -> bool:
        """True if each transaction of the other set is in this one: the only order that positions of different
        servers have."""
        return all(
            any(first <= begin and end <= last for first, last in self.intervals.get(source, ()))
            for source, some in other.intervals.items()
            for begin, end in some
        )

    # ------------------------------------------------------------ bytes

    @classmethod
    def from_bytes(cls, data: bytes) -> GtidSet:
        """Read the form of the log and of COM_BINLOG_DUMP_GTID."""
        reader = ByteReader(data, "the set of transaction ids")
        head = reader.u64()
        tagged = head >> 56 == _TAGGED_FORMAT
        if head >> 56 not in (0, _TAGGED_FORMAT):
            raise BinlogFormatError(f"the set of transaction ids has the unknown format {head >> 56}")
        found: dict[Source, list[Interval]] = {}
        for _ in range((head >> 8) & _COUNT_MASK if tagged else head):
            uuid = str(UUID(bytes=reader.take(16)))
            tag = reader.text(read_unsigned(reader), "ascii") if tagged else ""
            some = found.setdefault((uuid, tag), [])
            for _ in range(reader.u64()):
                first, end = reader.u64(), reader.u64()
                if not 0 < first < end:
                    raise BinlogFormatError(f"the set of transaction ids has the empty interval {first}-{end}")
                some.append((first, end))
        reader.expect_end()
        return cls({source: _merged(some) for source, some in sorted(found.items())})

    def to_bytes(self) -> bytes:
        """Write the form of COM_BINLOG_DUMP_GTID: the plain one, unless a tag needs the other."""
        tagged = any(tag for _, tag in self.intervals)
        count = len(self.intervals)
        head = _TAGGED_FORMAT << 56 | count << 8 | _TAGGED_FORMAT if tagged else count
        parts = [head.to_bytes(8, "little")]
        for (uuid, tag), some in sorted(self.intervals.items()):
            parts.append(UUID(uuid).bytes)
            if tagged:
                parts += [write_unsigned(len(tag)), tag.encode("ascii")]
            parts.append(len(some).to_bytes(8, "little"))
            parts += [number.to_bytes(8, "little") for interval in some for number in interval]
        return b"".join(parts)


def _merged(intervals: Iterable[Interval]) -> tuple[Interval, ...]:
    found: list[Interval] = []
    for first, end in sorted(intervals):
        if found and first <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((first, end))
    return tuple(found)
