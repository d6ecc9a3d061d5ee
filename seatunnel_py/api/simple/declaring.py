"""The options of a simple plugin: annotated attributes of its class become a model, and values of its instances.

A class is the factory; a *bound* instance of it also has the values of one step's options as attributes.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Iterable, Mapping
from types import new_class
from typing import Any, ClassVar, TypeVar, get_origin

from seatunnel_py.api.factory import Factory
from seatunnel_py.api.options import Options

PluginT = TypeVar("PluginT", bound=Factory)


def declare_options(plugin: type[Any], root: type[Any], base: type[Options]) -> None:
    """Set ``options`` of a plugin's class: those of its parent, or ``base``, and its annotated attributes."""
    known: type[Options] = getattr(plugin, "options", base)
    _check_names(plugin, root, set(known.model_fields) - set(base.model_fields))
    annotations = inspect.get_annotations(plugin)
    found = {name: kind for name, kind in annotations.items() if not name.startswith("_") and not _is_of_class(kind)}
    _check_names(plugin, root, found)
    plugin.options = _model(plugin, known, found) if found else known


def _check_names(plugin: type[Any], root: type[Any], names: Iterable[str]) -> None:
    """Refuse an option with the name of an attribute, which one of the two would hide."""
    reserved = set(dir(root)).union(*map(inspect.get_annotations, root.__mro__))
    for name in names:
        if name in reserved:
            raise TypeError(
                f"{plugin.__name__}: the option {name!r} has the name of an attribute of {root.__name__}; "
                f"give the attribute another name and write option(key={name!r})"
            )


def _model(plugin: type[Any], known: type[Options], found: Mapping[str, Any]) -> type[Options]:
    """A model of these options, whose defaults move there from the class."""
    members: dict[str, Any] = {name: plugin.__dict__[name] for name in found if name in plugin.__dict__}
    for name in members:
        delattr(plugin, name)
    members |= {"__annotations__": dict(found), "__module__": plugin.__module__}
    members["__doc__"] = f"Options of {plugin.__name__}."
    return new_class(f"{plugin.__name__}Options", (known,), exec_body=lambda space: space.update(members))


def _is_of_class(kind: Any) -> bool:
    if isinstance(kind, str):
        return kind.startswith(("ClassVar", "typing.ClassVar"))
    return kind is ClassVar or get_origin(kind) is ClassVar


def bound(plugin: PluginT, options: Options, **more: Any) -> PluginT:
    """A copy of the plugin with the values of the options, and ``more``, as attributes."""
    made = copy.copy(plugin)
    vars(made).update({name: getattr(options, name) for name in type(options).model_fields}, **more)
    return made
