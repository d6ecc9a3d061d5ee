"""The settings of Debezium that shape documents, from the block ``debezium`` of a source."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal

from seatunnel_py.api import TransformOptions, option


class DecimalMode(StrEnum):
    """Form of a decimal: base64 of its unscaled number, a text of digits, or the nearest double."""

    PRECISE = "precise"
    STRING = "string"
    DOUBLE = "double"


class TimeMode(StrEnum):
    """Unit of numbers for times and timestamps: that of the column's precision, or Kafka Connect's milliseconds."""

    ADAPTIVE = "adaptive"
    ADAPTIVE_TIME = "adaptive_time_microseconds"
    CONNECT = "connect"


class BinaryMode(StrEnum):
    """Form of bytes. JSON has no bytes: ``bytes`` is base64, too, with another schema."""

    BYTES = "bytes"
    BASE64 = "base64"
    BASE64_URL_SAFE = "base64-url-safe"
    HEX = "hex"


Database = Literal["mysql", "postgresql"]

KEY_SCHEMA, VALUE_SCHEMA = "key.converter.schemas.enable", "value.converter.schemas.enable"
SERVER_NAMES = ("topic.prefix", "database.server.name")
"""The setting's names, the newer one first."""
_CHOICES: Mapping[str, tuple[str, type[StrEnum]]] = {
    "decimal.handling.mode": ("decimals", DecimalMode),
    "time.precision.mode": ("times", TimeMode),
    "binary.handling.mode": ("binary", BinaryMode),
}
_PLACEHOLDER = "unavailable.value.placeholder"
SETTINGS = frozenset({KEY_SCHEMA, VALUE_SCHEMA, *SERVER_NAMES, *_CHOICES, _PLACEHOLDER})
"""Settings with an effect on documents."""


class RowFormat(StrEnum):
    """The form in which a source gives changes."""

    DEFAULT = "DEFAULT"
    DEBEZIUM = "COMPATIBLE_DEBEZIUM_JSON"


class DebeziumJsonOptions(TransformOptions):
    """The form of documents. ``server``: the first part of topics and names of schemas."""

    database: Database = option(doc="kind of the server")
    server: str = option(min_length=1, doc="logical name of the server")
    key_schema: bool = option(True, doc="whether keys have their schema beside them")
    value_schema: bool = option(True, doc="whether values have their schema beside them")
    decimals: DecimalMode = option(DecimalMode.PRECISE, doc="form of decimals")
    times: TimeMode = option(TimeMode.ADAPTIVE, doc="unit of times and timestamps")
    binary: BinaryMode = option(BinaryMode.BYTES, doc="form of bytes")
    placeholder: str = option("__debezium_unavailable_value", doc="text in place of a value that the log lacks")


def problems_of(given: Mapping[str, str]) -> list[str]:
    """The settings whose values documents cannot have."""
    problems = []
    for name in (KEY_SCHEMA, VALUE_SCHEMA):
        if given.get(name, "true").lower() not in ("true", "false"):
            problems.append(f"{name} = {given[name]} is not supported; use true or false")
    for name, (_, choices) in _CHOICES.items():
        text = given.get(name, "").lower()
        if text and text not in [choice.value for choice in choices]:
            problems.append(f"{name} = {given[name]} is not supported; use {', '.join(choices)}")
    return problems


def options_of(database: Database, server: str, given: Mapping[str, str]) -> DebeziumJsonOptions:
    """The options that the settings mean. ``server``: its name without a setting. Raises ValueError with all faults."""
    if problems := problems_of(given):
        raise ValueError("; ".join(problems))
    found: dict[str, object] = {"database": database, "server": server}
    for name in SERVER_NAMES[::-1]:
        if given.get(name):
            found["server"] = given[name]
    for name, attribute in ((KEY_SCHEMA, "key_schema"), (VALUE_SCHEMA, "value_schema")):
        found[attribute] = given.get(name, "true").lower() == "true"
    for name, (attribute, _) in _CHOICES.items():
        if given.get(name):
            found[attribute] = given[name].lower()
    if given.get(_PLACEHOLDER):
        found["placeholder"] = given[_PLACEHOLDER]
    return DebeziumJsonOptions.model_validate(found)
