"""The plugins of this distribution, each with the parts that a page needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, get_args

from seatunnel_py.api import Options, SinkOptions, SourceOptions, TransformOptions
from seatunnel_py.api.options import OptionInfo, describe
from seatunnel_py.api.options.values import alternatives
from seatunnel_py.plan.plugins.installed import installed
from seatunnel_py.plan.plugins.registry import DISTRIBUTION, PluginKind

COMMON: dict[PluginKind, type[Options]] = {
    PluginKind.SOURCE: SourceOptions,
    PluginKind.TRANSFORM: TransformOptions,
    PluginKind.SINK: SinkOptions,
}
"""The options that each step of a kind has."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """A source, transform or sink that is installed."""

    kind: PluginKind
    name: str
    factory: Any

    @property
    def model(self) -> type[Options]:
        model: type[Options] = self.factory.options
        return model

    @property
    def page(self) -> str:
        """The path of its page; the source and the sink of one name share a page."""
        folder = "transforms" if self.kind is PluginKind.TRANSFORM else "connectors"
        return f"{folder}/{self.name.lower()}.md"


@cache
def plugins() -> tuple[Plugin, ...]:
    """All plugins of this distribution, by kind and name."""
    registry = installed()
    ours = [entry for entry in registry.entries() if entry.distribution == DISTRIBUTION]
    found = [Plugin(entry.kind, entry.name, registry.loaded(entry)) for entry in ours]
    order = list(COMMON)
    return tuple(sorted(found, key=lambda one: (order.index(one.kind), one.name.lower())))


def nested(model: type[Options]) -> Iterator[tuple[OptionInfo, type[Options]]]:
    """Options whose value is an object (or a list of objects) with options of its own, and the model of that."""
    for info in describe(model):
        for inner in _models(model.model_fields[info.name].annotation):
            yield info, inner


def _models(kind: Any) -> Iterable[type[Options]]:
    for one in alternatives(kind):
        if isinstance(one, type) and issubclass(one, Options):
            yield one
        else:
            for argument in get_args(one):
                yield from _models(argument)


def all_models(model: type[Options]) -> tuple[tuple[str, type[Options]], ...]:
    """The model and every model inside of it, each once, with the path of the option that it is the value of."""
    found: dict[type[Options], str] = {}

    def visit(path: str, one: type[Options]) -> None:
        if one in found:
            return
        found[one] = path
        for info, inner in nested(one):
            visit(f"{path}.{info.key}" if path else info.key, inner)

    visit("", model)
    return tuple((path, one) for one, path in found.items())
