"""What Airflow reads about this provider."""

from __future__ import annotations

from typing import Any

from airflow_seatunnel_py import __version__

PACKAGE = "airflow-provider-seatunnel-py"


def get_provider_info() -> dict[str, Any]:
    """The entry point of the provider."""
    return {
        "package-name": PACKAGE,
        "name": "seatunnel-py",
        "description": "Runs jobs of a seatunnel-py server.",
        "versions": [__version__],
        "connection-types": [
            {"connection-type": "seatunnel_py", "hook-class-name": "airflow_seatunnel_py.hooks.SeaTunnelServerHook"}
        ],
        "extra-links": ["airflow_seatunnel_py.links.SeaTunnelRunLink"],
    }
