"""The example job files of docs/examples/, which stand on the pages of their plugins and run in a test.

A file is named after its plugin (``source-Jdbc.conf``), with more words where a plugin has several
(``sink-Jdbc-exactly-once.conf``). Its first comment is the title, further comment lines in front of the job are text.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from unittest.mock import patch

from seatunnel_py import app
from seatunnel_py.plan.steps import Job, Step
from tests.docs.site.installed import Plugin

FOLDER = Path(__file__).parents[3] / "docs" / "examples"
SECRETS = {"SHOP_PASSWORD": "not-a-real-password", "MODEL_KEY": "not-a-real-key"}
"""Variables of the environment that examples refer to."""


@dataclass(frozen=True, slots=True)
class Example:
    """A job file with its head taken apart."""

    path: Path
    title: str
    text: str
    job: str


def paths() -> list[Path]:
    return sorted(FOLDER.glob("*.conf"), key=lambda path: (path.name.partition(".")[0], path.name))


def of(plugin: Plugin) -> list[Example]:
    """The examples of one plugin, the plain one first."""
    begin = f"{plugin.kind.value}-{plugin.name}"
    return [read(path) for path in paths() if path.stem == begin or path.stem.startswith(f"{begin}-")]


def read(path: Path) -> Example:
    lines = path.read_text(encoding="utf-8").splitlines()
    end = next(at for at, line in enumerate(lines) if not line.startswith("#"))
    head = [line.lstrip("# ").strip() for line in lines[:end]]
    return Example(path, head[0], " ".join(head[1:]), "\n".join(lines[end:]).strip())


@cache
def understood(path: Path) -> Job:
    """The job as `seatunnel check` reads it."""
    with patch.dict(os.environ, SECRETS):
        return app.check(path)


def step(path: Path, plugin: Plugin) -> Step:
    """The step that the example is about."""
    return next(one for one in understood(path).of_kind(plugin.kind) if one.plugin == plugin.name)
