"""From a connection to a job file: a source that lists its tables, and the text that reads the chosen ones.

Rules. (1) A password stands in a text only as a reference. (2) Chosen tables are named one by one: a table that is
made later is not read. (3) A name of a table never becomes a placeholder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from seatunnel_py.api import Shorthand, SourceFactory, StepContext
from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.plan.job_text.blocks import NamedStep, job_text, option_value
from seatunnel_py.plan.job_text.ends import end_of, step_of
from seatunnel_py.plan.plugins.installed import installed
from seatunnel_py.plan.plugins.registry import BrokenPluginError, PluginKind

_PLACEHOLDER = "${"
_CONSOLE: NamedStep = ("Console", {})


@dataclass(frozen=True, slots=True)
class Connection:
    """A source plugin with options as ``key: value`` texts, none of which selects tables."""

    plugin: str
    options: Mapping[str, str]

    def listing_text(self) -> str:
        """A job file whose source has all tables, for ``seatunnel discover``. Raises SeaTunnelError."""
        factory = _factory(self.plugin)
        return job_text({"job.mode": "BATCH"}, (factory.name, {**self._given(factory), **factory.everything}), _CONSOLE)

    def job_text(self, tables: Sequence[str], target: str) -> str:
        """A job file that reads these tables, named as ``seatunnel discover`` names them. ``target``: an address as of
        ``seatunnel copy``. Raises SeaTunnelError."""
        hidden = [table for table in tables if _PLACEHOLDER in table]
        if hidden:
            raise SeaTunnelError(f"the name of the table {hidden[0]!r} would be a placeholder", "do not choose it")
        factory = _factory(self.plugin)
        given = self._given(factory)
        selected = factory.selecting(tables)
        assert selected is not None, factory.name
        wanted = Shorthand(target, schemas=True)
        end = end_of(PluginKind.SINK, wanted, _reference)
        bounded = _bounded(factory, {**given, **selected})
        env = {
            "job.name": f"{factory.name} to {end.address}",
            "job.mode": "BATCH" if bounded else "STREAMING",
            **({} if bounded else {"checkpoint.interval": 10_000}),
        }
        return job_text(env, (factory.name, {**given, **selected}), step_of(PluginKind.SINK, end))

    def _given(self, factory: SourceFactory[Any]) -> dict[str, Any]:
        return {key: option_value(text) for key, text in self.options.items() if key not in factory.everything}


def listing_sources() -> list[str]:
    """The sources that list the tables of a connection."""
    found = []
    for name in installed().names(PluginKind.SOURCE):
        with suppress(BrokenPluginError):  # it stops those who use it by its name
            if _lists(installed().factory(PluginKind.SOURCE, name)):
                found.append(name)
    return found


def _lists(factory: Any) -> bool:
    return isinstance(factory, SourceFactory) and bool(factory.everything) and factory.selecting(("t",)) is not None


def _factory(plugin: str) -> SourceFactory[Any]:
    factory = installed().factory(PluginKind.SOURCE, plugin)
    if not isinstance(factory, SourceFactory) or not _lists(factory):
        raise SeaTunnelError(f"{plugin} does not list tables", f"use one of {', '.join(listing_sources())}")
    return factory


def _reference(kind: PluginKind, password: str, user: str) -> str:
    if password and not password.startswith(_PLACEHOLDER):
        raise SeaTunnelError(
            f"the {kind.value}'s address holds a password",
            "refer to a variable of the server: postgresql://user:${env:NAME}@host/db",
        )
    return password


def _bounded(factory: SourceFactory[Any], options: Mapping[str, Any]) -> bool:
    """Whether the source ends by itself. Options that are wrong are shown by the check of the text."""
    try:
        understood = factory.options.model_validate(options)
    except ValidationError:
        return True
    return factory.capabilities(understood, StepContext("source")).bounded
