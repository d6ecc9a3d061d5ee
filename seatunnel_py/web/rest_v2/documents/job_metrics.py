"""``metrics`` of a job in SeaTunnel's form, from its receipt, or from the counters of its driver. Pure.

Rules. (1) Counts are of acknowledged rows, those of the receipt at the end. (2) A rate is that of the last seconds
while the job runs, and the mean of the run after its end. (3) Bytes that a source has read are not measured: 0, as is
the size of queues. (4) Maps by table have at most ``TABLES_MAX`` tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from seatunnel_py.web.rest_v2.documents.values import rate

TABLES_MAX = 1_000
_SINKS = ("SinkWrite", "SinkCommitted")


@dataclass(frozen=True, slots=True)
class JobRates:
    """Rows per second: of the whole job, and of each table."""

    total: float = 0.0
    tables: Mapping[str, float] | None = None


NO_RATES = JobRates()


def metrics(told: Mapping[str, Any] | None, rates: JobRates) -> dict[str, Any]:
    """The metrics of a run."""
    totals = (told or {}).get("totals") or {"rows_read": 0, "rows_written": 0, "bytes_written": 0}
    found: dict[str, Any] = {"IntermediateQueueSize": "0"}
    found |= _of_source("SourceReceived", totals["rows_read"], rates.total)
    for name in _SINKS:
        found |= _of_sink(name, totals, rates.total)
    return found | _by_table((told or {}).get("tables") or [], rates.tables or {})


def _of_source(name: str, rows: int, per_second: float) -> dict[str, str]:
    counts = {f"{name}Count": str(rows), f"{name}QPS": rate(per_second)}
    return counts | {f"{name}Bytes": "0", f"{name}BytesPerSeconds": "0"}


def _of_sink(name: str, told: Mapping[str, Any], per_second: float) -> dict[str, str]:
    rows, bytes = told["rows_written"], told["bytes_written"]
    of_rows = rows / told["rows_read"] if told["rows_read"] else 0.0
    of_bytes = bytes / told["rows_read"] if told["rows_read"] else 0.0
    counts = {f"{name}Count": str(rows), f"{name}QPS": rate(per_second * of_rows)}
    return counts | {f"{name}Bytes": str(bytes), f"{name}BytesPerSeconds": rate(per_second * of_bytes)}


def _by_table(tables: list[Mapping[str, Any]], rates: Mapping[str, float]) -> dict[str, dict[str, str]]:
    shown = tables[:TABLES_MAX]
    found: dict[str, dict[str, str]] = {}

    def put(shape: Callable[[Mapping[str, Any], float], dict[str, str]]) -> None:
        for table in shown:
            for name, value in shape(table, rates.get(table["table"], 0.0)).items():
                found.setdefault(f"Table{name}", {})[table["table"]] = value

    put(lambda table, per_second: _of_source("SourceReceived", table["rows_read"], per_second))
    for name in _SINKS:
        put(lambda table, per_second, name=name: _of_sink(name, table, per_second))  # type: ignore[misc]
    if not shown:
        whole = ("Count", "QPS", "Bytes", "BytesPerSeconds")
        found = {f"Table{name}{part}": {} for name in ("SourceReceived", *_SINKS) for part in whole}
    return found
