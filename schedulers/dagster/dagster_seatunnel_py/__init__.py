"""Jobs of seatunnel-py as assets of Dagster."""

from dagster_seatunnel_py.assets import seatunnel_assets
from dagster_seatunnel_py.command import SeaTunnelCommand

__all__ = ["SeaTunnelCommand", "seatunnel_assets"]
