"""Options of a plugin in the form of SeaTunnel's option rules. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

_TYPES = {
    "string": "java.lang.String",
    "int": "java.lang.Integer",
    "long": "java.lang.Long",
    "float": "java.lang.Double",
    "double": "java.lang.Double",
    "bool": "java.lang.Boolean",
    "object": "java.util.Map<java.lang.String, java.lang.Object>",
}
_LIST = "list of "


def option_rule_document(kind: str, name: str, options: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The rules of a plugin. ``options``: as ``plugins show`` has them."""
    required = [_option(one) for one in options if one["required"]]
    rules = [{"ruleType": "ABSOLUTELY_REQUIRED", "options": required, "expression": None, "expressionTree": None}]
    return {
        "engineType": "seatunnel",
        "pluginType": kind,
        "pluginName": name,
        "optionRule": {
            "optionalOptions": [_option(one) for one in options if not one["required"]],
            "requiredOptions": rules if required else [],
            "conditionRules": [],
            "valueConstraints": [],
        },
    }


def _option(one: Mapping[str, Any]) -> dict[str, Any]:
    choices = list(one["choices"]) or None
    return {
        "key": one["key"],
        "type": _TYPES["string"] if choices else java_type(one["type"]),
        "defaultValue": _default(one),
        "description": one["doc"],
        "fallbackKeys": list(one["fallback"]),
        "optionValues": choices,
    }


def java_type(type: str) -> str:
    """The name of SeaTunnel for a type of ours; one that it does not have is a text there."""
    if type.startswith(_LIST):
        return f"java.util.List<{java_type(type.removeprefix(_LIST))}>"
    return _TYPES.get(type, _TYPES["string"])


def _default(one: Mapping[str, Any]) -> Any:
    if one["default"] == "" or one["secret"]:
        return None
    if one["type"] == "string" or one["choices"]:
        return one["default"]
    try:
        return json.loads(one["default"].lower() if one["type"] == "bool" else one["default"])
    except ValueError:
        return one["default"]
