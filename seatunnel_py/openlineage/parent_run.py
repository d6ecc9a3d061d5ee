"""The run that has started this one, as a scheduler describes it in the environment. Pure.

``OPENLINEAGE_PARENT_ID`` and ``OPENLINEAGE_ROOT_PARENT_ID`` are those of OpenLineage's integrations: namespace, job
and id of the run, divided by slashes. ``TRACEPARENT`` is that of the W3C. ``SEATUNNEL_NOMINAL_TIME`` is the time for
which a scheduler has started the run, in ISO 8601 with its zone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from seatunnel_py.openlineage import facets
from seatunnel_py.openlineage.facets import Facet

_TRACE = re.compile(r"[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")


def run_facets_of(environment: Mapping[str, str]) -> tuple[dict[str, Facet], tuple[str, ...]]:
    """The facets that the environment describes, and a sentence for each variable that cannot be read."""
    root = environment.get("OPENLINEAGE_ROOT_PARENT_ID", "").strip()
    readers: dict[str, tuple[str, Callable[[str], Facet]]] = {
        "OPENLINEAGE_PARENT_ID": ("parent", lambda text: facets.parent(_run(text), _run(root) if root else None)),
        "SEATUNNEL_NOMINAL_TIME": ("nominalTime", lambda text: facets.nominal_time(_time(text))),
        "TRACEPARENT": ("seatunnel_trace", lambda text: facets.own("trace", traceparent=_trace(text))),
    }
    found, faults = {}, []
    for variable, (name, read) in readers.items():
        if text := environment.get(variable, "").strip():
            try:
                found[name] = read(text)
            except ValueError as error:
                faults.append(f"{variable} is ignored: {error}")
    return found, tuple(faults)


def _run(text: str) -> dict[str, Any]:
    parts = text.rsplit("/", 2)
    if len(parts) != 3 or not all(parts):
        raise ValueError("write namespace/job/run-id")
    namespace, job, run = parts
    return {"run": {"runId": str(UUID(run))}, "job": {"namespace": namespace, "name": job}}


def _time(text: str) -> str:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("it has no zone; write for example 2026-01-31T03:00:00Z")
    try:
        return moment.astimezone(UTC).isoformat(timespec="milliseconds")
    except OverflowError:
        raise ValueError("in UTC it is outside of the years 1 to 9999") from None


def _trace(text: str) -> str:
    if not _TRACE.fullmatch(text):
        raise ValueError("it is not a trace context of the W3C")
    return text
