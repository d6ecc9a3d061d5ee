"""The forms of single values in SeaTunnel's documents: times, numbers, sizes. Pure."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

_UNITS = "KMGT"


def local_time(at: float | None) -> str:
    """A time as ``yyyy-MM-dd HH:mm:ss`` in the zone of the server; empty: there is none."""
    return "" if not at else datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def utc_time(at: float | None) -> str:
    """Write a time in UTC in the form of ISO 8601; empty: there is none."""
    return "" if not at else datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")


def times(**named: float | None) -> dict[str, str]:
    """Times under their names, each with one in UTC beside it."""
    found: dict[str, str] = {}
    for name, at in named.items():
        found |= {name: local_time(at), f"{name}Utc": utc_time(at)}
    return found


def milliseconds(at: float) -> int:
    """A time in milliseconds since 1970."""
    return round(at * 1_000)


def rate(value: float) -> str:
    """A rate as a text without an exponent."""
    return format(Decimal(str(round(value, 6))), "f")


def size(bytes: float) -> str:
    """A size with one digit after the point and its unit."""
    unit = ""
    for next in _UNITS:
        if bytes < 1_024:
            break
        bytes, unit = bytes / 1_024, next
    return f"{bytes:.1f}{unit}" if unit else f"{bytes:.0f}"


def share(part: float, whole: float) -> str:
    """A share in per cent."""
    return f"{100 * part / whole if whole else 0:.2f}%"
