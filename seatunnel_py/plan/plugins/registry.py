"""Finds plugins by name and loads them on use.

Rules: names are compared ignoring case. A name that two distributions claim is refused if a job uses it, unless the job
names one as ``distribution:Name``: the choice must never depend on install order. A plugin that cannot be loaded stops
only the jobs that use it. If its library is missing, the error names the extra to install.
"""

from __future__ import annotations

import difflib
import importlib.metadata
import inspect
import re
from collections import defaultdict
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from seatunnel_py.api.factory import Factory, SinkFactory, SourceFactory, TransformFactory
from seatunnel_py.api.options import Options
from seatunnel_py.errors import SeaTunnelError, first_line, worded
from seatunnel_py.work.failing_code import MEND, failing_code

PROJECT = "seatunnel_py"
DISTRIBUTION = "seatunnel-py"


class PluginKind(StrEnum):
    SOURCE = "source"
    TRANSFORM = "transform"
    SINK = "sink"

    @property
    def group(self) -> str:
        return f"seatunnel_py.{self.value}s"


_REFUSED = {
    "dynamiccompile": "it would compile Java or Groovy; Sql has functions for most uses, and a transform of one's own "
    "is a few lines of Python (docs/authors.md)",
}
"""Plugins of SeaTunnel that will not be ported, in lower case, with alternatives."""


class UnknownPluginError(SeaTunnelError):
    """No plugin has that name; ``suggestion`` is the nearest existing one. ``reasons``: why one of that name may be
    installed all the same, a sentence each."""

    def __init__(self, kind: PluginKind, name: str, known: tuple[str, ...], reasons: tuple[str, ...] = ()) -> None:
        near = difflib.get_close_matches(name.lower(), [other.lower() for other in known], n=1, cutoff=0.6)
        self.suggestion = next((other for other in known if near and other.lower() == near[0]), "")
        names = f"known {kind.value}s: {', '.join(sorted(known)) or 'none'}; `seatunnel plugins list` shows them"
        remedy = _REFUSED.get(name.lower()) or "; ".join((*reasons, names))
        super().__init__(f"there is no {kind.value} plugin {name!r}", remedy)
        self.args = (kind, name, known, reasons)


class BrokenPluginError(SeaTunnelError):
    """A plugin cannot be loaded, or two plugins claim its name."""


@dataclass(frozen=True, slots=True)
class PluginEntry:
    """An installed plugin: its origin, and how to load it."""

    kind: PluginKind
    name: str
    distribution: str
    entry_point: importlib.metadata.EntryPoint | None = None
    factory: type[Factory] | None = None

    @property
    def qualified(self) -> str:
        return f"{self.distribution}:{self.name}"


class Registry:
    """All installed plugins of this interpreter. Metadata is read once; plugins are loaded on use."""

    def __init__(self, entries: tuple[PluginEntry, ...], broken: tuple[str, ...] = ()) -> None:
        """``broken``: faults of distributions that could not list their plugins, a sentence each."""
        self.broken = broken
        self._entries = tuple(sorted(dict.fromkeys(entries), key=lambda one: (one.kind, one.name.lower())))
        self._named: dict[tuple[PluginKind, str], list[PluginEntry]] = defaultdict(list)
        for entry in self._entries:
            self._named[entry.kind, entry.name.lower()].append(entry)
        self._loaded: dict[PluginEntry, Factory] = {}

    def entries(self) -> tuple[PluginEntry, ...]:
        return self._entries

    def names(self, kind: PluginKind) -> tuple[str, ...]:
        return tuple(dict.fromkeys(entry.name for entry in self._entries if entry.kind is kind))

    def factory(self, kind: PluginKind, name: str) -> Factory:
        """Return the factory of that name, or of ``distribution:Name``. Raises UnknownPluginError or
        BrokenPluginError."""
        distribution, _, bare = name.rpartition(":")
        found = self._named.get((kind, bare.lower()), [])
        if distribution:
            found = [one for one in found if _canonical(one.distribution) == _canonical(distribution)]
        if not found:
            misplaced = _misplaced_entry(kind, bare)
            raise UnknownPluginError(kind, name, self.names(kind), (misplaced,) if misplaced else self.broken)
        if len(found) > 1:
            raise BrokenPluginError(
                f"two plugins are called {bare!r} ({kind.value}): "
                f"{', '.join(f'one of {one.distribution}' for one in found)}",
                f"name one: {' or '.join(one.qualified for one in found)} (in quotes); or uninstall one of them",
            )
        return self.loaded(found[0])

    def loaded(self, entry: PluginEntry) -> Factory:
        """Load the factory of an entry. Raises BrokenPluginError."""
        if entry not in self._loaded:
            self._loaded[entry] = _load(entry)
        return self._loaded[entry]


def _canonical(distribution: str) -> str:
    """Normalise names of distributions as pip does."""
    return re.sub(r"[-_.]+", "-", distribution).lower()


def _misplaced_entry(kind: PluginKind, name: str) -> str:
    """Find an entry point of that name in another group: a slip in a pyproject.toml, which makes the plugin
    invisible."""
    groups = {one.group: one for one in PluginKind}
    points = importlib.metadata.entry_points()
    for point in (point for group in points.groups for point in points.select(group=group)):
        if point.name.lower() == name.lower() and point.group.startswith(f"{PROJECT}.") and point.group != kind.group:
            if _canonical(distribution_of(point)) == DISTRIBUTION:
                return f"{point.name} is a {groups[point.group].value}"
            unknown = "" if point.group in groups else ", which is not a group of plugins"
            return (
                f"{distribution_of(point)} names {point.name!r} in the entry points {point.group!r}{unknown}; "
                f"a {kind.value} stands in {kind.group!r}"
            )
    return ""


def _load(entry: PluginEntry) -> Factory:
    what = f"the {entry.kind.value} {entry.name!r} of {entry.distribution}"
    try:
        loaded = entry.factory if entry.entry_point is None else entry.entry_point.load()
    except KeyboardInterrupt:
        raise  # raised by the user
    except BaseException as error:  # a module may end the process when it is imported
        raise _not_loaded(what, entry, error) from error
    if not (isinstance(loaded, type) and issubclass(loaded, Factory)) or _misplaced(loaded, entry.kind):
        raise BrokenPluginError(
            f"{what} is not a {entry.kind.value} factory: {getattr(loaded, '__name__', loaded)!r}",
            f"it must be a subclass of {_CLASSES[entry.kind].__name__} of seatunnel_py.api",
        )
    try:
        made = loaded()
    except Exception as error:  # an abstract method is missing, or its constructor needs an argument
        text = str(error) if isinstance(error, TypeError) else worded(error)
        raise BrokenPluginError(f"{what} cannot be made: {text}", MEND) from error
    wrong = _undeclared(made) or _miscalled(made, entry.kind)
    if wrong:
        raise BrokenPluginError(f"{what} is not declared correctly: {wrong}", MEND)
    made.distribution = entry.distribution
    return made


def _not_loaded(what: str, entry: PluginEntry, error: BaseException) -> BrokenPluginError:
    """Return the cause, and a remedy: a name in pyproject.toml, a library, or the plugin's own lines."""
    code = failing_code(error)
    message = f"{what} cannot be loaded: {worded(error)}{f' ({code.place})' if code else ''}"
    value = entry.entry_point.value if entry.entry_point is not None else ""
    module = value.partition(":")[0].strip()
    missing = error.name or "" if isinstance(error, ModuleNotFoundError) else ""
    if missing and module != missing and not module.startswith(f"{missing}."):
        return BrokenPluginError(message, f"pip install {missing}; a plugin imports its library inside of `create`")
    if missing or (isinstance(error, AttributeError) and code is None):
        table = f'[project.entry-points."{entry.kind.group}"] of {entry.distribution}: {entry.name} = "{value}"'
        return BrokenPluginError(message, f"check {table}; then install it again")
    return BrokenPluginError(message, MEND)


def _undeclared(factory: Factory) -> str:
    """Return the fault of its name or its options, if any: every command reads them, even for unused plugins."""
    if not isinstance(getattr(factory, "name", None), str):
        return "it has no `name`, which has to be a text"
    options = getattr(factory, "options", None)
    if not (isinstance(options, type) and issubclass(options, Options)):
        return f"its `options` have to be a class of SourceOptions, TransformOptions or SinkOptions, not {options!r}"
    try:
        options.model_rebuild()
    except Exception as error:  # noqa: BLE001 - types of a plugin's own are looked up here
        return f"its options {options.__name__} cannot be understood: {first_line(worded(error))}"
    return ""


def _miscalled(factory: Factory, kind: PluginKind) -> str:
    """Return the fault of its methods' parameters, if any: a method with wrong parameters would fail every run."""
    if not isinstance(factory, _CLASSES[kind]):
        return ""  # made for Spark
    for name in ("capabilities", "create"):
        wanted = tuple(inspect.signature(getattr(_CLASSES[kind], name)).parameters)[1:]
        given = inspect.signature(getattr(factory, name))
        try:
            given.bind(*wanted)
        except TypeError:
            return f"its `{name}{given}` is called with ({', '.join(wanted)})"
    return ""


_CLASSES: dict[PluginKind, type[Factory]] = {
    PluginKind.SOURCE: SourceFactory,
    PluginKind.TRANSFORM: TransformFactory,
    PluginKind.SINK: SinkFactory,
}


def _misplaced(factory: type[Factory], kind: PluginKind) -> bool:
    """Whether a factory is in the group of another kind. Factories without a kind are made for Spark."""
    kinds = {other for other, base in _CLASSES.items() if issubclass(factory, base)}
    return bool(kinds) and kind not in kinds


def distribution_of(point: importlib.metadata.EntryPoint) -> str:
    return point.dist.name if point.dist else "?"


def extras_of(factory: Factory, options: Any = None) -> tuple[str, ...]:
    """The extras that a plugin needs, as ``distribution[extra]``; with ``options`` only those that these need."""
    extras = factory.extras(options) if options is not None else filter(None, (factory.extra,))
    return tuple(one if "[" in one else f"{factory.distribution or DISTRIBUTION}[{one}]" for one in extras)


def missing_extra(factory: Factory, error: ImportError, options: Any = None) -> SeaTunnelError:
    """Make the error for a plugin whose client library is not installed. The remedy names the extra of the plugin's
    distribution; with ``options`` only the extra that these need."""
    wanted = extras_of(factory, options)
    command = f"pip install {' '.join(map(repr, wanted))}" if wanted else f"pip install {error.name}"
    return BrokenPluginError(f"{factory.name} needs the library {error.name!r}, which is not installed", command)
