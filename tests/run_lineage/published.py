"""Reads an event into the classes of OpenLineage's own client, which are generated from the published schemas.

Strict: an unknown or missing field, a value of another type, a wrong id, time or address of a schema raises. The
addresses of facets name their versions, so a facet of another version is found as well.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import types
import typing
from enum import Enum
from typing import Any
from urllib.parse import urlparse

import attr
from openlineage.client import generated
from openlineage.client.generated import base

NAMES = {
    "columnLineage": "ColumnLineageDatasetFacet",
    "dataSource": "DatasourceDatasetFacet",
    "errorMessage": "ErrorMessageRunFacet",
    "inputStatistics": "InputStatisticsInputDatasetFacet",
    "jobType": "JobTypeJobFacet",
    "nominalTime": "NominalTimeRunFacet",
    "outputStatistics": "OutputStatisticsOutputDatasetFacet",
    "parent": "ParentRunFacet",
    "processing_engine": "ProcessingEngineRunFacet",
    "schema": "SchemaDatasetFacet",
    "sql": "SQLJobFacet",
}
"""The class of each standard facet, by its key in an event."""

Class = Any
"""A class of the client."""


def _classes() -> dict[str, Class]:
    found = {}
    for one in pkgutil.iter_modules(generated.__path__):
        module = importlib.import_module(f"openlineage.client.generated.{one.name}")
        for kind in vars(module).values():
            if inspect.isclass(kind) and issubclass(kind, base.BaseFacet) and kind.__module__ == module.__name__:
                found[kind._get_schema()] = kind
    return found


FACETS = _classes()


def require_valid(event: dict[str, Any]) -> None:
    """Raise unless the event is one that the published schemas allow."""
    assert event["schemaURL"] == base.RunEvent._get_schema()
    assert urlparse(event["producer"]).scheme
    plain = {name: value for name, value in event.items() if name != "schemaURL"}
    _read(base.RunEvent, plain, "event")


def _read(kind: Class, data: Any, where: str) -> Any:
    """An object of this class, made from plain data."""
    assert isinstance(data, dict), f"{where} is no object"
    hints = typing.get_type_hints(kind)
    known = {one.name for one in attr.fields(kind) if one.init}
    extra = set(data) - known
    assert not extra, f"{where} has {extra}, which {kind.__name__} does not know"
    return kind(**{name: _value(hints[name], value, f"{where}.{name}") for name, value in data.items()})


def _value(hint: Any, value: Any, where: str) -> Any:
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        (hint,) = [one for one in inner if one is not type(None)]
        return _value(hint, value, where)
    if origin is list:
        assert isinstance(value, list), f"{where} is no list"
        return [_value(inner[0], one, f"{where}[{at}]") for at, one in enumerate(value)]
    if origin is dict:
        assert isinstance(value, dict), f"{where} is no object"
        return {name: _value(inner[1], one, f"{where}.{name}") for name, one in value.items()}
    if inspect.isclass(hint) and issubclass(hint, Enum):
        return hint(value)
    if inspect.isclass(hint) and issubclass(hint, base.BaseFacet):
        return _facet(hint, value, where)
    if attr.has(hint):
        return _read(hint, value, where)
    assert isinstance(value, hint) and (hint is bool or not isinstance(value, bool)), f"{where} is {value!r}"
    return value


def _facet(kind: Class, data: dict[str, Any], where: str) -> Any:
    """A facet of the class that its schema's address names; one of ours has the two common fields."""
    name = where.rpartition(".")[2]
    plain = {key: value for key, value in data.items() if not key.startswith("_")}
    assert urlparse(data["_producer"]).scheme and urlparse(data["_schemaURL"]).scheme
    if name.startswith("seatunnel_"):
        return data
    found = FACETS[data["_schemaURL"]]
    assert found.__name__ == NAMES[name], f"{where} has the schema of {found.__name__}"
    assert issubclass(found, kind), f"{where} is no {kind.__name__}"
    return _read(found, plain, where)
