"""Builds the option model of a simple plugin from the annotated attributes of its class.

The class is the factory; a *bound* instance also has the option values of one step as attributes.
"""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Iterable, Mapping
from types import new_class
from typing import Any, ClassVar, TypeVar, get_origin

from seatunnel_py.api.factory import Factory
from seatunnel_py.api.options import Options

PluginT = TypeVar("PluginT", bound=Factory)


def declare_options(plugin: type[Any], root: type[Any], base: type[Options]) -> None:
    """Set ``options`` of a plugin class: those of its parent, or ``base``, plus its annotated attributes. A source and
    a sink may inherit shared attributes from another base class. ``rules`` of the class become the model's."""
    known: type[Options] = getattr(plugin, "options", base)
    _check_names(plugin, root, set(known.model_fields) - set(base.model_fields))
    members: dict[str, Any] = {"rules": plugin.__dict__["rules"]} if "rules" in plugin.__dict__ else {}
    found: dict[str, Any] = {}
    for kind in reversed(plugin.__mro__):
        if kind is plugin or not (issubclass(root, kind) or issubclass(kind, root)):
            own = _annotated(kind)
            found |= own
            members |= {name: kind.__dict__[name] for name in own if name in kind.__dict__}
    _check_names(plugin, root, found)
    plugin.options = _model(plugin, known, found, members) if found or members else known


def _annotated(kind: type[Any]) -> dict[str, Any]:
    """Annotated attributes of one class, without ``ClassVar``."""
    annotations = inspect.get_annotations(kind)
    return {name: of for name, of in annotations.items() if not name.startswith("_") and not _is_of_class(of)}


def _check_names(plugin: type[Any], root: type[Any], names: Iterable[str]) -> None:
    """Refuse an option with the name of an attribute of the base, because one would hide the other."""
    reserved = set(dir(root)).union(*map(inspect.get_annotations, root.__mro__))
    for name in names:
        if name in reserved:
            raise TypeError(
                f"{plugin.__name__}: the option {name!r} has the name of an attribute of {root.__name__}; "
                f"give the attribute another name and write option(key={name!r})"
            )


def _model(
    plugin: type[Any], known: type[Options], found: Mapping[str, Any], members: Mapping[str, Any]
) -> type[Options]:
    """Create the model of these options; their defaults move to it from the class."""
    for name in set(found) & set(plugin.__dict__):
        delattr(plugin, name)
    space = {**members, "__annotations__": dict(found), "__module__": plugin.__module__}
    space["__doc__"] = f"Options of {plugin.__name__}."
    with warnings.catch_warnings():  # pydantic warns of fields with the name of one of its deprecated methods
        warnings.filterwarnings("ignore", r'Field name "\w+" in "\w+" shadows an attribute', UserWarning)
        return new_class(f"{plugin.__name__}Options", (known,), exec_body=lambda made: made.update(space))


def _is_of_class(kind: Any) -> bool:
    if isinstance(kind, str):
        return kind.startswith(("ClassVar", "typing.ClassVar"))
    return kind is ClassVar or get_origin(kind) is ClassVar


def bound(plugin: PluginT, options: Options, **more: Any) -> PluginT:
    """Copy the plugin, and set the option values and ``more`` as attributes."""
    made = copy.copy(plugin)
    vars(made).update({name: getattr(options, name) for name in type(options).model_fields}, **more)
    return made
