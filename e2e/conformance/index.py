"""The jobs of a conformance directory, and which of them this version can be asked for."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

# Why jobs with these plugins, or formats of messages, cannot be asked for.
LATER = {
    "s3file": "S3File: this version has no such connector",
    "http": "Http: this version has no such connector",
    "redis": "Redis: this version has no such connector",
    "mysql-cdc": "MySQL-CDC: not run yet",
}

FORMATS = ("compatible_debezium_json",)
_FORMAT = re.compile(r"^\s*format\s*=\s*\"?(\w+)", re.MULTILINE)


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

    def skipped_because(self, text: str) -> str:
        """The reason why the job, a file of this text, is out of scope; empty when it is in scope."""
        for plugin in self.plugins:
            if plugin in LATER:
                return LATER[plugin]
        formats = {match[1].lower() for match in _FORMAT.finditer(text)}
        return "".join(f"Kafka: this version has no format {name}" for name in FORMATS if name in formats)


def entries(directory: Path, only: str = "") -> list[Entry]:
    """The jobs whose names hold ``only``, in the order of the index."""
    found = []
    for item in json.loads((directory / "index.json").read_text()):
        lists = {key: tuple(item[key]) for key in ("sources", "transforms", "sinks")}
        entry = Entry(item["job"], item["mode"], expect=item["expect"], **lists)
        if only in entry.job:
            found.append(entry)
    return found
