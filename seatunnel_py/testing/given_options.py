"""Resolves a plugin's options, as a job file gives them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from seatunnel_py.config.resolve import resolve_options
from seatunnel_py.config.tree import SourcePlace, node_of
from seatunnel_py.errors import JobFileError


def resolved(factory: Any, options: Mapping[str, Any]) -> Any:
    """Typed options, resolved as the command line does. Raises JobFileError."""
    place = SourcePlace("options of the test", 1, 1)
    found, problems, _ = resolve_options(node_of(options, place), factory.options, path=factory.name)
    if problems:
        raise JobFileError(problems)
    return found
