"""One route of the server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from seatunnel_py.web.access import Need


@dataclass(frozen=True, slots=True)
class Route:
    """One route. ``status``: of its success."""

    method: str
    path: str
    handler: Callable[..., Any]
    need: Need
    status: int = 200
