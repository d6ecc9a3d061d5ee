"""Writes the live record of a run: ``counters.json``, and the file that ``metrics.textfile`` names.

Rules. (1) Both are written by the same thread, at most once a second. (2) A file of metrics is replaced atomically, and
readable by all users, because another user's exporter reads it; it holds names of the job and of tables. (3) A file
that cannot be written any more does not disturb the job; ``seatunnel_live_timestamp_seconds`` shows its age. (4) Tables
get series of their own once: else a table that leaves the largest ones would set the sum of the others back.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from seatunnel_py.config.env import SERIES_MAX, EnvOptions
from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.runtime.diagnosis.live_counters import EarlierCounts
from seatunnel_py.runtime.observe.metric_series import series
from seatunnel_py.runtime.observe.metric_text import text_of
from seatunnel_py.runtime.observe.run_record import RunRecord, TableRecord, run_record, tables_of
from seatunnel_py.runtime.storage.job_directory import JobDirectory, replace_file

_encoded = json.JSONEncoder(default=str).encode
_TOP = re.compile(r"top\(\s*(\d+)\s*\)")
STREAMING_INTERVAL_MS = 10_000


@dataclass(frozen=True, slots=True)
class TableLabels:
    """The tables that ``metrics.tables`` chooses: ``names``, the ``top`` largest, or ``all``."""

    top: int = 0
    names: frozenset[str] = frozenset()
    all: bool = False

    @classmethod
    def of(cls, text: str) -> TableLabels:
        """Read the option, which is valid."""
        if found := _TOP.fullmatch(text):
            return cls(top=int(found[1]))
        return cls(all=True) if text == "all" else cls(names=frozenset(name.strip() for name in text.split(",")))

    def chosen(self, before: Sequence[str], tables: Sequence[TableRecord]) -> tuple[str, ...]:
        """The chosen tables, with those that were chosen ``before``; a table is one of the largest once it has rows."""
        if self.all:
            return tuple(dict.fromkeys((*before, *(one.table for one in tables))))
        if self.names:
            found = (one.table for one in tables if self.names & _ends(one.table))
            return tuple(dict.fromkeys((*before, *found)))[:SERIES_MAX]
        moving = sorted((one for one in tables if one.counts["rows_read"]), key=lambda one: -one.counts["rows_read"])
        return tuple(dict.fromkeys((*before, *(one.table for one in moving))))[: self.top]


def _ends(table: str) -> frozenset[str]:
    """The ends of a table's name: ``shop.public.orders``, ``public.orders`` and ``orders``."""
    parts = table.split(".")
    return frozenset(".".join(parts[at:]) for at in range(len(parts)))


@dataclass(slots=True)
class LiveRecord:
    """Writes the record of one driver. ``before``: counts of earlier drivers; ``facts``: those that do not change."""

    place: JobDirectory
    about: Mapping[str, Any]
    facts: Mapping[str, Any]
    before: EarlierCounts = field(default_factory=EarlierCounts)
    textfile: Path | None = None
    labels: TableLabels | None = None
    labelled: tuple[str, ...] = ()
    _texts: dict[int, tuple[Mapping[str, Any], str]] = field(default_factory=dict)

    @classmethod
    def of(cls, place: JobDirectory, env: EnvOptions) -> LiveRecord:
        """The record of the driver that has claimed this directory. Raises SeaTunnelError for a wrong option."""
        earlier = _earlier(place)
        interval = env.checkpoint_interval or (STREAMING_INTERVAL_MS if env.job_mode == "STREAMING" else None)
        facts = {"mode": env.job_mode.value, "interval": None if interval is None else interval / 1000}
        textfile = None if env.metrics_textfile is None else _writable(env.metrics_textfile)
        labels = None if env.metrics_tables is None else TableLabels.of(env.metrics_tables)
        before = EarlierCounts(earlier.tables, earlier.checkpoints)
        labelled = earlier.labelled or ()
        return cls(place, place.last_claim or {}, facts, before, textfile, labels, labelled)

    def write(self, counters: Mapping[str, Any]) -> None:
        """Write the counters of now."""
        record = {**counters, **self.facts}
        texts = self._texts_of(record.pop("tables"))
        if self.labels is not None:
            tables = tables_of(counters["tables"], counters["marks"])
            self.labelled = self.labels.chosen(self.labelled, tables)
            record["labelled"] = list(self.labelled)
        if self.place.keep_counters(record, texts) and self.textfile is not None:
            whole = {**record, "tables": counters["tables"]}
            write_metrics(self.textfile, run_record(self.place.job_id, self.about, whole, None, alive=True))

    def _texts_of(self, tables: Sequence[Mapping[str, Any]]) -> list[str]:
        """The entries of tables as JSON. The texts of the last writing stay valid, because an entry is never altered;
        they hold their entries, so no other one has the same identity."""
        known = self._texts
        self._texts = {id(one): known.get(id(one)) or (one, _encoded(one)) for one in tables}
        return [self._texts[id(one)][1] for one in tables]


def end_record(place: JobDirectory, env: EnvOptions) -> None:
    """Write the metrics of a run that has ended, with the counts of its receipt."""
    with suppress(SeaTunnelError):
        if env.metrics_textfile is None or not place.ours:
            return
        about = place.read("job") or {}
        record = run_record(place.job_id, about, place.counters, place.receipt, alive=False)
        write_metrics(Path(env.metrics_textfile), replace(record, at=time.time()))


def write_metrics(path: Path, record: RunRecord) -> None:
    """Replace a file with the metrics of one run. Without effect if it cannot be written."""
    with suppress(OSError):
        replace_metrics(path, text_of(series([record], time.time())))


def replace_metrics(path: Path, text: str) -> None:
    """Replace a file of metrics (rule 2)."""
    replace_file(path, text, durable=False, mode=0o644)


def _earlier(place: JobDirectory) -> RunRecord:
    """The record of the driver before: its counters, and its receipt, which was written later."""
    counters = receipt = None
    with suppress(SeaTunnelError):  # a damaged one is written again
        counters = place.read("counters")
    with suppress(SeaTunnelError):
        receipt = place.read("receipt")
    live = counters or {}
    tables = tables_of(live.get("tables", ()), live.get("marks", {}))
    marks = {one.table: one.counts for one in tables}
    both = tables_of((receipt or {}).get("tables", ()), marks)
    return replace(run_record(place.job_id, {}, counters, None, alive=False), tables=both)


def _writable(text: str) -> Path:
    """The path of the file. Raises SeaTunnelError if none can be created there."""
    path = Path(text)
    if path.is_dir():
        raise SeaTunnelError(f"metrics.textfile = {text} is a directory", "name a file in it, as in shop.prom")
    if not path.absolute().parent.is_dir() or not os.access(path.absolute().parent, os.W_OK):
        raise SeaTunnelError(f"metrics.textfile = {text}: no file can be created there", "create the directory first")
    return path
