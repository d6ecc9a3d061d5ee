"""Lists the plugins of this interpreter: entry points, and those that a distribution registers by a hook.

Rule: hooks that cannot be loaded, or that fail, stop no job. A note of each job names their distribution, and so does
the error of a job that uses a missing plugin.
"""

from __future__ import annotations

import importlib.metadata
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pluggy

from seatunnel_py.api.factory import Factory
from seatunnel_py.errors import first_line, worded
from seatunnel_py.plan.plugins.registry import PROJECT, PluginEntry, PluginKind, Registry, distribution_of

HOOKS_GROUP = "seatunnel_py.hooks"

hookspec = pluggy.HookspecMarker(PROJECT)


@dataclass(slots=True)
class Registration:
    """Given to a ``seatunnel_register`` hook, which calls ``add`` for each factory made at run time."""

    factories: list[tuple[PluginKind, type[Factory]]] = field(default_factory=list)

    def add(self, kind: str, factory: type[Factory]) -> None:
        self.factories.append((PluginKind(kind), factory))


class HookSpecs:
    """Hooks that a distribution may implement; the object or module goes into the group ``seatunnel_py.hooks``."""

    @hookspec
    def seatunnel_register(self, registration: Registration) -> None:
        """Add plugins that are not entry points themselves, such as generated ones."""

    @hookspec
    def seatunnel_job_event(self, event: Any) -> None:
        """Something happened in a running job (see ``seatunnel_py.runtime.observe.events``). Must not block."""


@dataclass(frozen=True, slots=True)
class Hooks:
    """``broken``: faults of the hooks that could not be loaded, a sentence for each distribution."""

    manager: pluggy.PluginManager
    broken: tuple[str, ...] = ()


@cache
def _entry_points() -> tuple[importlib.metadata.EntryPoint, ...]:
    """The entry points of all plugins and hooks. Finding them reads a file of every distribution: it is done once."""
    points = importlib.metadata.entry_points()
    groups = (HOOKS_GROUP, *(kind.group for kind in PluginKind))
    return tuple(point for group in groups for point in points.select(group=group))


def _of_group(group: str) -> list[importlib.metadata.EntryPoint]:
    return [point for point in _entry_points() if point.group == group]


@cache
def hooks() -> Hooks:
    """Every installed hook implementation, loaded one by one: a broken one does not prevent the others."""
    manager = pluggy.PluginManager(PROJECT)
    manager.add_hookspecs(HookSpecs)
    broken = []
    for point in _of_group(HOOKS_GROUP):
        distribution = distribution_of(point)
        try:
            manager.register(point.load(), name=f"{distribution}:{point.name}")
        except KeyboardInterrupt:
            raise  # raised by the user
        except BaseException as error:  # noqa: BLE001 - a module may end the process where it is imported
            broken.append(_left_out(distribution, "cannot be loaded", error))
    return Hooks(manager, tuple(broken))


def _left_out(distribution: str, what: str, error: BaseException) -> str:
    return f"the hooks of {distribution} {what}, and are skipped: {first_line(worded(error))}"


@cache
def installed() -> Registry:
    """Return the registry of this interpreter. The name of a distribution is read from a file, once."""
    found = [(kind, point) for kind in PluginKind for point in _of_group(kind.group)]
    one_of_each = {id(point.dist): point for _, point in found}
    names = {dist: distribution_of(point) for dist, point in one_of_each.items()}
    entries = [PluginEntry(kind, point.name, names[id(point.dist)], entry_point=point) for kind, point in found]
    broken = list(hooks().broken)
    manager = hooks().manager
    for plugin in manager.get_plugins():
        try:
            entries += _registered(manager, plugin)
        except Exception as error:  # noqa: BLE001 - code of others
            distribution = (manager.get_name(plugin) or "").partition(":")[0]
            broken.append(_left_out(distribution, "fail", error))
    return Registry(tuple(entries), tuple(broken))


def _registered(manager: pluggy.PluginManager, plugin: object) -> list[PluginEntry]:
    """The plugins that the hook of one distribution adds."""
    registration = Registration()
    others = [other for other in manager.get_plugins() if other is not plugin]
    manager.subset_hook_caller("seatunnel_register", others)(registration=registration)
    return [
        PluginEntry(kind, factory.name, factory.__module__.partition(".")[0], factory=factory)
        for kind, factory in registration.factories
    ]
