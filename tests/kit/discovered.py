"""The tables of a connection, and those that a job file for the chosen ones reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from seatunnel_py import app
from seatunnel_py.api import SourceTable
from seatunnel_py.cli.commands.discover import found_by
from seatunnel_py.plan.job_text.chosen import Connection
from seatunnel_py.plan.plugins.registry import PluginKind


@dataclass
class Discovered:
    """Each list is of the real server. ``folder``: of the job files."""

    connection: Connection
    folder: Path

    def everything(self) -> list[str]:
        return self._names(self.connection.listing_text())

    def chosen(self, names: Sequence[str]) -> list[str]:
        return self._names(self.connection.job_text(names, "console:"))

    def _names(self, text: str) -> list[str]:
        file = self.folder / "discovered.conf"
        file.write_text(text, encoding="utf-8")
        job = app.check(file, {})
        (step,) = job.of_kind(PluginKind.SOURCE)
        found, _ = found_by(step, job)
        return [str(one.schema.path if isinstance(one, SourceTable) else one.path) for one in found]
