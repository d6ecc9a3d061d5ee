"""The jobs of a conformance directory, and which of them this version can be asked for."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

# Why jobs with these plugins cannot be asked for.
LATER = {
    "s3file": "S3File: this version has no such connector",
    "http": "Http: this version has no such connector",
    "redis": "Redis: this version has no such connector",
}


@dataclass(frozen=True, slots=True)
class Entry:
    """One job of the index. ``expect`` is what SeaTunnel's own test expects: pass, fail or unknown."""

    job: str
    mode: str
    sources: tuple[str, ...]
    transforms: tuple[str, ...]
    sinks: tuple[str, ...]
    expect: str

    @property
    def name(self) -> str:
        """Without what all jobs have in common."""
        return self.job.removeprefix("jobs/").removesuffix(".conf")

    @property
    def endless(self) -> bool:
        """It has to be asked to stop."""
        return self.mode != "batch"

    @property
    def plugins(self) -> tuple[str, ...]:
        return tuple(plugin.lower() for plugin in (*self.sources, *self.transforms, *self.sinks))

    @property
    def skipped_because(self) -> str:
        """The reason why the job is out of scope; empty when it is in scope."""
        return next((LATER[plugin] for plugin in self.plugins if plugin in LATER), "")


def entries(directory: Path, only: str = "") -> list[Entry]:
    """The jobs whose names hold ``only``, in the order of the index."""
    found = []
    for item in json.loads((directory / "index.json").read_text()):
        lists = {key: tuple(item[key]) for key in ("sources", "transforms", "sinks")}
        entry = Entry(item["job"], item["mode"], expect=item["expect"], **lists)
        if only in entry.job:
            found.append(entry)
    return found
