"""All routes of the server, with the role that each needs. A route that is not in this table does not exist."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from seatunnel_py.control.store.tokens import Role
from seatunnel_py.web.access import Need
from seatunnel_py.web.routes import live, plugins, probes, run_details, run_logs, runs

API = "/api/v1"


@dataclass(frozen=True, slots=True)
class Route:
    """One route. ``status``: of its success."""

    method: str
    path: str
    handler: Callable[..., Any]
    need: Need
    status: int = 200


def _read(path: str, handler: Callable[..., Any], role: Role | None = Role.READ, *, costly: bool = False) -> Route:
    return Route("GET", path, handler, Need(role, costly))


ROUTES = (
    _read("/livez", probes.livez, None),
    _read("/readyz", probes.readyz, None),
    _read("/healthz", probes.healthz, None),
    _read("/version", probes.version, None),
    _read("/metrics", probes.metrics),
    _read(f"{API}/openapi.json", probes.openapi),
    _read(f"{API}/whoami", probes.whoami),
    _read(f"{API}/runs", runs.listing),
    _read(f"{API}/runs/{{run}}", runs.show),
    _read(f"{API}/runs/{{run}}/tables", runs.tables),
    _read(f"{API}/runs/{{run}}/tables/{{key:path}}", run_details.table),
    _read(f"{API}/runs/{{run}}/plan", run_details.plan),
    _read(f"{API}/runs/{{run}}/explain", run_details.explain, costly=True),
    _read(f"{API}/runs/{{run}}/checkpoints", run_details.checkpoints),
    _read(f"{API}/runs/{{run}}/failures", run_details.failures),
    _read(f"{API}/runs/{{run}}/savepoints", run_details.savepoints),
    _read(f"{API}/runs/{{run}}/events", run_logs.events),
    _read(f"{API}/runs/{{run}}/log", run_logs.log),
    _read(f"{API}/savepoints", run_details.all_savepoints),
    _read(f"{API}/plugins", plugins.listing),
    _read(f"{API}/plugins/{{kind}}/{{name}}", plugins.show),
    _read(f"{API}/live", live.live),
)
STREAMS = frozenset({f"{API}/live"})
"""Paths without a time limit."""
