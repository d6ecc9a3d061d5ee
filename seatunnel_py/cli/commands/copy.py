"""Implements ``seatunnel copy``: writes a job file for two URLs, and runs it. A first copy needs no hand-written job
file.

Each plugin declares which URLs it understands (``from_shorthand``). A password never enters the file: it stays in an
environment variable of this process, and the file refers to that variable.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from seatunnel_py.api import Plain, Shorthand, SinkFactory, SourceFactory
from seatunnel_py.cli.commands import run as running
from seatunnel_py.cli.commands.init import STDOUT
from seatunnel_py.cli.view.files import making, writing
from seatunnel_py.cli.view.terminal import say, say_document
from seatunnel_py.errors import ExitCode, SeaTunnelError
from seatunnel_py.plan.plugins.installed import installed
from seatunnel_py.plan.plugins.registry import BrokenPluginError, PluginKind
from seatunnel_py.runtime.storage.home import COPIES, Home

PARALLELISM_MAX = 4
PASSWORDS = {PluginKind.SOURCE: "SEATUNNEL_SOURCE_PASSWORD", PluginKind.SINK: "SEATUNNEL_TARGET_PASSWORD"}
MORE = "for anything else `seatunnel init` writes a job file to begin with"
UNDERSTOOD = (
    "addresses look like postgresql://user@host/db, mysql://user@host/db, sqlite:shop.db, kafka://host:9092/topic, "
    f"console: or the path of files; {MORE}"
)
_CUT = re.compile(r"//[^/?#@]+[/?#].*@")
_CREDENTIALS = re.compile(r"[?&;](user|password)=", re.IGNORECASE)


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
    source = _end(PluginKind.SOURCE, chosen)
    name, read = _step(PluginKind.SOURCE, source)
    reader = installed().factory(PluginKind.SOURCE, name)
    wanted = Shorthand(
        asked.target, into=asked.into, replace=asked.replace, append=asked.append, format=asked.format,
        schemas=isinstance(reader, SourceFactory) and bool(reader.everything),
    )  # fmt: skip
    target = _end(PluginKind.SINK, wanted)
    other, written = _step(PluginKind.SINK, target)
    env = {
        "job.name": f"copy {source.address} to {target.address}",
        "parallelism": min(PARALLELISM_MAX, os.cpu_count() or 1),
    }
    return "\n".join(
        [_block("env", env), f"source {{\n{_block(name, read, 2)}}}\n", f"sink {{\n{_block(other, written, 2)}}}\n"]
    )


def _kept(text: str) -> Path:
    """Path of the job file of a copy, from which the job can be resumed."""
    return Home.of_environment().path / COPIES / f"{hashlib.sha256(text.encode()).hexdigest()[:8]}.conf"


def _end(kind: PluginKind, given: Shorthand) -> Shorthand:
    """Return the URL without user and password."""
    if _CREDENTIALS.search(given.address):
        raise SeaTunnelError(
            f"the {kind.value}'s address has credentials among its parameters",
            f"write them as user:password@host, or set {PASSWORDS[kind]}",
        )
    if _CUT.search(given.address):  # not repeated: it may hold a password
        raise SeaTunnelError(
            f"the {kind.value}'s address cannot be read: the part before its @ holds one of / ? #",
            f"write these as %2F %3F %23, or set {PASSWORDS[kind]}",
        )
    java = "jdbc:" if given.address.startswith("jdbc:") else ""
    parts = urlsplit(given.address.removeprefix(java))
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    place = parts.netloc.rpartition("@")[2]
    address = java + parts._replace(netloc=place).geturl() if parts.netloc else given.address
    return replace(given, address=address, user=user, password=_reference(kind, password, user))


def _reference(kind: PluginKind, password: str, user: str) -> str:
    """A typed password stays out of the file; one that is in the environment already is left there."""
    if password.startswith("${"):
        return password
    name = PASSWORDS[kind]
    if password:
        os.environ[name] = password
    return f"${{env:{name}}}" if user and name in os.environ else ""


def _step(kind: PluginKind, end: Shorthand) -> tuple[str, Mapping[str, Plain]]:
    """Find the plugin that understands the URL, and its options."""
    plugins = installed()
    for name in plugins.names(kind):
        try:
            factory = plugins.factory(kind, name)
        except BrokenPluginError:
            continue  # it stops those who use it by its name
        assert isinstance(factory, SourceFactory | SinkFactory)
        try:
            options = factory.from_shorthand(end)
        except ValueError as error:
            raise SeaTunnelError(f"{kind.value} {end.address}: {error}", MORE) from None
        if options is not None:
            return name, options
    raise SeaTunnelError(f"no {kind.value} understands the address {end.address!r}", UNDERSTOOD)


def _block(name: str, options: Mapping[str, Any], indent: int = 0) -> str:
    """Render a value in HOCON; texts, numbers and lists are as in JSON."""
    space = " " * indent
    lines = [f"{space}  {key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in options.items()]
    return f"{space}{name} {{\n{''.join(lines)}{space}}}\n"
