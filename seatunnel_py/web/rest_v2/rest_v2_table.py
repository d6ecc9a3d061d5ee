"""The routes of SeaTunnel's REST API, with the role that each needs. The routes exist if the server was started with
them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from seatunnel_py.control.store.tokens import Role
from seatunnel_py.web.access import Need
from seatunnel_py.web.rest_v2 import job_routes, server_routes, stop_routes, submit_routes
from seatunnel_py.web.route import Route
from seatunnel_py.web.routes import probes
from seatunnel_py.web.settings import SeaTunnelApi

V1 = "/hazelcast/rest/maps"
V1_METRICS = ("/hazelcast/rest/instance/metrics", "/hazelcast/rest/instance/openmetrics")


def _read(path: str, handler: Callable[..., Any], *, costly: bool = False, status_open: bool = False) -> Route:
    return Route("GET", path, handler, Need(Role.READ, costly, status_open=status_open))


def _write(path: str, handler: Callable[..., Any], role: Role) -> Route:
    return Route("POST", path, handler, Need(role))


V2 = (
    _read("/overview", server_routes.overview),
    _read("/running-jobs", job_routes.running_jobs),
    _read("/pending-jobs", server_routes.pending_jobs),
    _read("/job-info/{job}", job_routes.job_info, status_open=True),
    _read("/running-job/{job}", job_routes.job_info, status_open=True),
    _read("/job-info/{job}/failures", job_routes.failures),
    _read("/finished-jobs", job_routes.finished_jobs),
    _read("/finished-jobs/{state}", job_routes.finished_jobs_in),
    _read("/system-monitoring-information", server_routes.system_monitoring),
    _read("/jobs/checkpoints/{job}", job_routes.checkpoints),
    _read("/jobs/checkpoints/history/{job}", job_routes.checkpoint_history),
    _read("/option-rules", server_routes.option_rules),
    _read("/logs", server_routes.logs),
    _read("/logs/{job}", server_routes.log),
    _read("/log/{job}", server_routes.log_text),
    _write("/submit-job", submit_routes.submit_job, Role.EDIT),
    _write("/submit-job/upload", submit_routes.submit_upload, Role.EDIT),
    _write("/submit-jobs", submit_routes.submit_jobs, Role.EDIT),
    _write("/stop-job", stop_routes.stop_job, Role.OPERATE),
    _write("/stop-jobs", stop_routes.stop_jobs, Role.OPERATE),
    _write("/encrypt-config", submit_routes.encrypt_config, Role.ADMIN),
    _write("/update-tags", submit_routes.update_tags, Role.ADMIN),
)
V1_ROUTES = (
    *(Route(one.method, f"{V1}{one.path}", one.handler, one.need) for one in V2),
    *(_read(path, probes.metrics) for path in V1_METRICS),
)
EVERY = (*V2, *V1_ROUTES)
TEMPLATES = frozenset(route.path for route in EVERY)
"""Paths whose errors have SeaTunnel's form."""
RAW = frozenset(route.path for route in EVERY if route.method == "POST")
"""Paths that take bodies of any type."""


def chosen_routes(api: SeaTunnelApi) -> tuple[Route, ...]:
    """The routes of a server with these settings."""
    return (*(V2 if api.enabled else ()), *(V1_ROUTES if api.v1 else ()))
