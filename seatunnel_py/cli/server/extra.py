"""The libraries of the server are an extra: without it the command to install them is named."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from seatunnel_py.errors import SeaTunnelError

LIBRARIES = ("fastapi", "starlette", "uvicorn", "sqlalchemy", "prometheus_client", "h11", "cronsim")


@contextmanager
def server_parts() -> Iterator[None]:
    """Wraps imports of the server. Raises SeaTunnelError if its libraries are not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in LIBRARIES:
            raise
        raise SeaTunnelError(
            f"the server needs {missing}, which is not installed", "pip install 'seatunnel-py[server]'"
        ) from None
