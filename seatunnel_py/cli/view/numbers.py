"""Formats numbers for reading."""

from __future__ import annotations

from collections.abc import Iterator

from seatunnel_py.nouns import noun


def count(number: float) -> str:
    """``950``, ``12,300``, ``4.2 M``."""
    if number >= 10_000_000:
        return f"{number / 1e6:,.1f} M"
    return f"{number:,.0f}"


def rows(number: int) -> str:
    """``1 row``, ``12,300 rows``, ``42.0 M rows``."""
    return f"{count(number)} {noun(number, 'row')}"


def and_more(total: int, shown: int, what: str = "") -> Iterator[str]:
    """The line below a list of which a terminal shows only the beginning."""
    if total > shown:
        yield f"and {total - shown} more{what and ' '}{what}: --json shows them"


def percent(number: float, of: float | None) -> str:
    """``42 %`` of an estimate, which may be too small; empty without one."""
    return f"{min(99, int(100 * number / of))} %" if of else ""


def size(number: float) -> str:
    """``512 B``, ``3.4 MB`` (powers of 1,000)."""
    for unit in ("B", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:,.0f} {unit}" if unit == "B" else f"{number:,.1f} {unit}"
        number /= 1000
    return f"{number:,.1f} TB"


def seconds(number: float) -> str:
    """``0.8 s``, ``42 s``, ``3 min 20 s``, ``2 h 5 min``."""
    if number < 10:
        return f"{number:.1f} s"
    if number < 60:
        return f"{number:.0f} s"
    minutes, rest = divmod(int(number), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min"
