"""Routes about the installed plugins."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from fastapi import Request
from starlette.responses import Response

from seatunnel_py.api.options import describe
from seatunnel_py.config.env import EnvOptions
from seatunnel_py.plan.job_text.chosen import listing_sources
from seatunnel_py.plan.plugins.installed import installed
from seatunnel_py.plan.plugins.plugin_rows import plugin_rows, plugins_named
from seatunnel_py.web.answers import answer
from seatunnel_py.web.problems import ApiError


def listing(request: Request) -> Response:
    """All plugins, as `plugins list --json`; ``env``: the options of the job itself; ``discover``: the sources that
    list the tables of a connection."""
    own = [asdict(one) for one in describe(EnvOptions)]
    return answer({"plugins": plugin_rows(), "discover": listing_sources(), "env": own})


def show(request: Request, kind: str, name: str) -> Response:
    """The options of a plugin, as `plugins show --json`, and their JSON Schema."""
    known = {(entry.kind.value, entry.name.lower()): entry for entry in installed().entries()}
    entry = known.get((kind.lower(), name.lower()))
    if entry is None:
        raise ApiError(404, "unknown-plugin", "there is no such plugin", "GET /api/v1/plugins lists them")
    (found,) = (one for one in plugins_named(entry.name) if one["kind"] == entry.kind.value)
    factory: Any = installed().loaded(entry)
    schema = factory.options.model_json_schema()
    return answer({**found, "distribution": entry.distribution, "schema": schema})
