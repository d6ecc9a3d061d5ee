"""Implements ``seatunnel copy``: writes a job file for two URLs, and runs it. A first copy needs no hand-written job
file.

A password never enters the file: it stays in an environment variable of this process, and the file refers to that
variable.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from seatunnel_py.api import Shorthand, SourceFactory
from seatunnel_py.cli.commands import run as running
from seatunnel_py.cli.commands.init import STDOUT
from seatunnel_py.cli.view.files import making, writing
from seatunnel_py.cli.view.terminal import say, say_document
from seatunnel_py.errors import ExitCode, SeaTunnelError
from seatunnel_py.plan.job_text.blocks import job_text
from seatunnel_py.plan.job_text.ends import end_of, step_of
from seatunnel_py.plan.plugins.installed import installed
from seatunnel_py.plan.plugins.registry import PluginKind
from seatunnel_py.runtime.storage.home import COPIES, Home

PARALLELISM_MAX = 4
PASSWORDS = {PluginKind.SOURCE: "SEATUNNEL_SOURCE_PASSWORD", PluginKind.SINK: "SEATUNNEL_TARGET_PASSWORD"}


@dataclass(frozen=True, slots=True)
class CopyRequest:
    """The request as given on the command line."""

    source: str
    target: str
    tables: tuple[str, ...] = ()
    into: str = ""
    replace: bool = False
    format: str = ""
    append: bool = False
    exclude: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()


def copy(asked: CopyRequest, to: Path | None, job_id: str | None, *, as_json: bool) -> int:
    """Run the job of two URLs, or only write its file; return the exit code."""
    if asked.replace and asked.append:
        raise SeaTunnelError("--replace and --append exclude each other", "give one of them")
    text = job_file(asked)
    if to == STDOUT:
        say_document(text, nl=False)
        return ExitCode.SUCCESS
    if to is not None:
        with making(to):
            to.touch(mode=0o600, exist_ok=False)
            to.write_text(text, encoding="utf-8")
        say(f"wrote {to}; next: seatunnel plan {to}")
        return ExitCode.SUCCESS
    path = _kept(text)
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.touch(mode=0o600)
        path.write_text(text, encoding="utf-8")
    return running.run(running.RunRequest(path, {}, job_id, False, None, (), as_json))


def job_file(asked: CopyRequest) -> str:
    """Render the job in HOCON. Raises SeaTunnelError for a URL that no plugin understands."""
    chosen = Shorthand(asked.source, tables=asked.tables, format=asked.format, exclude=asked.exclude, kinds=asked.kinds)
    source = end_of(PluginKind.SOURCE, chosen, _reference)
    read = step_of(PluginKind.SOURCE, source)
    reader = installed().factory(PluginKind.SOURCE, read[0])
    wanted = Shorthand(
        asked.target, into=asked.into, replace=asked.replace, append=asked.append, format=asked.format,
        schemas=isinstance(reader, SourceFactory) and bool(reader.everything),
    )  # fmt: skip
    target = end_of(PluginKind.SINK, wanted, _reference)
    env = {
        "job.name": f"copy {source.address} to {target.address}",
        "parallelism": min(PARALLELISM_MAX, os.cpu_count() or 1),
    }
    return job_text(env, read, step_of(PluginKind.SINK, target))


def _kept(text: str) -> Path:
    """Path of the job file of a copy, from which the job can be resumed."""
    return Home.of_environment().path / COPIES / f"{hashlib.sha256(text.encode()).hexdigest()[:8]}.conf"


def _reference(kind: PluginKind, password: str, user: str) -> str:
    """A typed password stays out of the file; one that is in the environment already is left there."""
    if password.startswith("${"):
        return password
    name = PASSWORDS[kind]
    if password:
        os.environ[name] = password
    return f"${{env:{name}}}" if user and name in os.environ else ""
