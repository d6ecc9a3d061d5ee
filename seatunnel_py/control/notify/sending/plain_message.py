"""An event as a short text, for chats and mail. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from seatunnel_py.control.store.outbox.outbox_events import OutboxEvent
from seatunnel_py.terminal_text import terminal_text

LINE_CHARACTERS_MAX = 300
TABLES_SHOWN = 10


@dataclass(frozen=True, slots=True)
class PlainMessage:
    """``link``: to the page of the run; empty: there is none."""

    title: str
    lines: Sequence[str]
    link: str = ""

    @property
    def text(self) -> str:
        """All of it."""
        return "\n".join(filter(None, (self.title, *self.lines, self.link)))


def message_of(event: OutboxEvent) -> PlainMessage:
    """The text of an event."""
    data = event.body["data"]
    return PlainMessage(_line(data["summary"]), [_line(one) for one in _lines(data)], data.get("link") or "")


def _lines(data: Mapping[str, Any]) -> Iterator[str]:
    if data.get("run"):
        revision = f", revision {data['revision']}" if data.get("revision") is not None else ""
        of = f" of {data['definition']}{revision}" if data.get("definition") else ""
        yield f"run: {data['run']}{of}"
    for name in ("cause", "remedy"):
        if data.get(name):
            yield f"{name}: {data[name]}"
    counts = ", ".join(f"{number} {state}" for state, number in sorted((data.get("tables") or {}).items()))
    if counts:
        yield f"tables: {counts}"
    tables = data.get("failed_tables", ())
    for one in tables[:TABLES_SHOWN]:
        yield ": ".join(filter(None, (f"{one['table']} {one['state']}", one["cause"], one["remedy"])))
    more = len(tables[TABLES_SHOWN:]) + data.get("more_tables", 0)
    if more:
        yield f"and {more} more tables"
    if data.get("folded"):
        yield f"{data['folded']} more of this kind were not sent since the last one"


def _line(text: str) -> str:
    return terminal_text(" ".join(text.split()))[:LINE_CHARACTERS_MAX]
