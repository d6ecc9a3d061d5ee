"""All routes of the server, with the role that each needs. A route that is not in this table does not exist."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from seatunnel_py.control.store.tokens import Role
from seatunnel_py.web import page_routes
from seatunnel_py.web.access import Need
from seatunnel_py.web.discovery import connections
from seatunnel_py.web.notify import notify_routes
from seatunnel_py.web.route import Route
from seatunnel_py.web.routes import (
    admin,
    checks,
    definitions,
    live,
    plugins,
    probes,
    quarantine,
    run_details,
    run_graph,
    run_logs,
    run_requests,
    run_series,
    runs,
    sessions,
    starts,
)
from seatunnel_py.web.schedules import schedule_routes

API = "/api/v1"


def _read(path: str, handler: Callable[..., Any], role: Role | None = Role.READ, *, costly: bool = False) -> Route:
    return Route("GET", path, handler, Need(role, costly))


def _write(
    method: str, path: str, handler: Callable[..., Any], role: Role, status: int = 200, *, costly: bool = False
) -> Route:
    return Route(method, f"{API}{path}", handler, Need(role, costly), status)


def _page(path: str, handler: Callable[..., Any]) -> Route:
    return Route("GET", path, handler, Need(None, public=True))


ROUTES = (
    _page("/", page_routes.start),
    _page("/jobs", page_routes.start),
    _page("/jobs/{run}", page_routes.job),
    _page("/jobs/{run}/{part}", page_routes.part),
    _page("/edit", page_routes.start),
    _page("/edit/{id}", page_routes.edited),
    _page("/catalogue", page_routes.start),
    _page("/discover", page_routes.start),
    _page("/assets/{asset}", page_routes.asset),
    _read("/livez", probes.livez, None),
    _read("/readyz", probes.readyz, None),
    _read("/healthz", probes.healthz, None),
    _read("/version", probes.version, None),
    _read("/metrics", probes.metrics),
    _read(f"{API}/openapi.json", probes.openapi),
    _read(f"{API}/whoami", sessions.whoami),
    _read(f"{API}/about", probes.about),
    Route("POST", f"{API}/session", sessions.begin, Need(None, public=True), 201),
    _write("DELETE", "/session", sessions.end, Role.READ),
    _read(f"{API}/runs", runs.listing),
    _read(f"{API}/runs/{{run}}", runs.show),
    _read(f"{API}/runs/{{run}}/tables", runs.tables),
    _read(f"{API}/runs/{{run}}/tables/{{key:path}}", run_details.table),
    _read(f"{API}/runs/{{run}}/plan", run_details.plan),
    _read(f"{API}/runs/{{run}}/graph", run_graph.graph),
    _read(f"{API}/runs/{{run}}/lineage", run_graph.lineage),
    _read(f"{API}/runs/{{run}}/lineage/{{key:path}}", run_graph.lineage_of_table),
    _read(f"{API}/runs/{{run}}/series", run_series.series),
    _read(f"{API}/runs/{{run}}/quarantine", quarantine.listing, costly=True),
    _read(f"{API}/runs/{{run}}/quarantine/rows", quarantine.rows, costly=True),
    _write("POST", "/runs/{run}/quarantine/replay", quarantine.replay, Role.OPERATE, 202, costly=True),
    _read(f"{API}/runs/{{run}}/explain", run_details.explain, costly=True),
    _read(f"{API}/runs/{{run}}/checkpoints", run_details.checkpoints),
    _read(f"{API}/runs/{{run}}/state", run_details.state, costly=True),
    _read(f"{API}/runs/{{run}}/failures", run_details.failures),
    _read(f"{API}/runs/{{run}}/savepoints", run_details.savepoints),
    _read(f"{API}/runs/{{run}}/events", run_logs.events),
    _read(f"{API}/runs/{{run}}/log", run_logs.log),
    _read(f"{API}/runs/{{run}}/start", starts.newest),
    _read(f"{API}/savepoints", run_details.all_savepoints),
    _read(f"{API}/plugins", plugins.listing),
    _read(f"{API}/plugins/{{kind}}/{{name}}", plugins.show),
    _read(f"{API}/live", live.live),
    _read(f"{API}/runs/{{run}}/requests/{{id}}", run_requests.show),
    _write("POST", "/runs/{run}/savepoint", run_requests.savepoint, Role.OPERATE, 202),
    _write("POST", "/runs/{run}/stop", run_requests.stop, Role.OPERATE, 202),
    _write("POST", "/runs/{run}/cancel", run_requests.cancel, Role.OPERATE, 202),
    _write("POST", "/runs/{run}/kill", run_requests.kill, Role.OPERATE),
    _write("POST", "/runs/{run}/restore", starts.restore, Role.OPERATE, 202),
    _write("POST", "/runs/{run}/rewind", starts.rewind, Role.OPERATE, costly=True),
    _read(f"{API}/definitions", definitions.listing),
    _write("POST", "/definitions", definitions.create, Role.EDIT, 201),
    _read(f"{API}/definitions/{{id}}", definitions.show),
    _write("PUT", "/definitions/{id}", definitions.change, Role.EDIT),
    _write("DELETE", "/definitions/{id}", definitions.delete, Role.ADMIN),
    _read(f"{API}/definitions/{{id}}/revisions", definitions.revisions),
    _read(f"{API}/definitions/{{id}}/revisions/{{number}}", definitions.revision),
    _read(f"{API}/definitions/{{id}}/diff", definitions.diff),
    _write("POST", "/definitions/{id}/runs", starts.start, Role.OPERATE, 202),
    _write("PUT", "/definitions/{id}/policy", starts.policy, Role.EDIT),
    _write("POST", "/definitions/{id}/release", starts.release, Role.OPERATE, 202),
    _read(f"{API}/schedules", schedule_routes.listing),
    _read(f"{API}/schedule-times", schedule_routes.times),
    _write("POST", "/definitions/{id}/schedules", schedule_routes.create, Role.EDIT, 201),
    _read(f"{API}/schedules/{{id}}", schedule_routes.show),
    _write("PUT", "/schedules/{id}", schedule_routes.change, Role.EDIT),
    _write("DELETE", "/schedules/{id}", schedule_routes.delete, Role.EDIT),
    _write("POST", "/schedules/{id}/pause", schedule_routes.pause, Role.OPERATE),
    _write("POST", "/schedules/{id}/resume", schedule_routes.resume, Role.OPERATE),
    _write("POST", "/schedules/{id}/runs", schedule_routes.start, Role.OPERATE, 202),
    _read(f"{API}/schedules/{{id}}/fires", schedule_routes.fires),
    Route("POST", f"{API}/check", checks.check, Need(Role.EDIT, checks=True)),
    _write("POST", "/plan", checks.plan, Role.EDIT, costly=True),
    _write("POST", "/preview", checks.preview, Role.EDIT, costly=True),
    _write("POST", "/discover", checks.discover, Role.EDIT, costly=True),
    _write("POST", "/discover/tables", connections.tables, Role.EDIT, costly=True),
    _write("POST", "/discover/job", connections.job, Role.EDIT),
    _write("POST", "/test-connection", checks.test_connection, Role.EDIT, costly=True),
    _read(f"{API}/queue", admin.queued),
    _write("PATCH", "/queue/{run}", admin.prioritise, Role.OPERATE),
    _write("DELETE", "/queue/{run}", admin.drop, Role.OPERATE),
    _read(f"{API}/tokens", admin.token_list, Role.ADMIN),
    _write("POST", "/tokens", admin.token_create, Role.ADMIN, 201),
    _write("DELETE", "/tokens/{id}", admin.token_revoke, Role.ADMIN),
    _read(f"{API}/audit", admin.audit_rows, Role.ADMIN),
    _read(f"{API}/notifications", notify_routes.targets, Role.ADMIN),
    _read(f"{API}/notifications/deliveries", notify_routes.listing, Role.ADMIN),
    _write("POST", "/notifications/targets/{name}/test", notify_routes.try_out, Role.ADMIN, costly=True),
    _write("POST", "/notifications/targets/{name}/resume", notify_routes.resume, Role.ADMIN),
)
STREAMS = frozenset({f"{API}/live"})
"""Paths without a time limit."""
