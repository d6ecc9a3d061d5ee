"""Builds a JSON Schema of job files in their JSON form, for editors.

Rules. (1) It accepts everything that ``check`` accepts. A text may represent a number, a truth value or a list, for
variables are texts. Choices are compared ignoring case, null means absent, dotted keys may be nested. Two exceptions:
steps as an object of plugins instead of a list, and ``env.strict = false``. (2) It refuses unknown options. (3) Only
``check`` finds mistakes that depend on several options, or on outside systems.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from seatunnel_py.api.options import Options
from seatunnel_py.config.env import EnvOptions
from seatunnel_py.config.steps import KINDS, NAME_KEY

Schema = dict[str, Any]

DRAFT = "https://json-schema.org/draft/2020-12/schema"
SPELLINGS = {
    "integer": ["integer", "string"],
    "number": ["number", "string"],
    "boolean": ["boolean", "string", "integer"],
    "string": ["string", "number", "boolean"],
}
"""Alternatives allowed for each type of pydantic; ``check`` reads the text."""

UNTOLD = ("title", "key", "fallback", "naming", "writeOnly", "uniqueItems", "maxLength")
"""Attributes useless to editors, and limits that apply only after escapes and variables are replaced."""


@dataclass(frozen=True, slots=True)
class PluginOptions:
    """Options of one plugin. ``kind`` is source, transform or sink."""

    kind: str
    name: str
    summary: str
    model: type[Options]


def job_schema(plugins: Iterable[PluginOptions]) -> Schema:
    """Build the schema of all jobs that can be written with these plugins."""
    plugins = list(plugins)
    made = {f"{one.kind}.{one.name}": one for one in plugins}
    options = {place: _model(one.model, place) for place, one in made.items()}
    for place, schema in options.items():
        schema["description"] = made[place].summary
        schema["properties"][NAME_KEY] = {"type": "string"}
    steps = {kind: _steps(kind, [one.name for one in plugins if one.kind == kind]) for kind in KINDS}
    return {
        "$schema": DRAFT,
        "title": "job file of seatunnel-py",
        "type": "object",
        "required": ["source", "sink"],
        "properties": {"env": {"$ref": "#/$defs/env"}, **steps},
        "$defs": {"env": _model(EnvOptions, "env"), **options},
    }


def _steps(kind: str, names: list[str]) -> Schema:
    """A list of steps; the name of each selects its options."""
    chosen = [
        {
            "if": {"required": [NAME_KEY], "properties": {NAME_KEY: {"pattern": _any_case([name])}}},
            "then": {"$ref": f"#/$defs/{kind}.{name}"},
        }
        for name in names
    ]
    name = {"type": "string", "anyOf": [{"enum": names}, {"pattern": _any_case(names)}]}
    step = {"type": "object", "required": [NAME_KEY], "properties": {NAME_KEY: name}, "allOf": chosen}
    return {"type": "array", "items": step}


def _model(model: type[Options], place: str) -> Schema:
    """A model under the names of job files; nested models are in its own ``$defs``."""
    made = model.model_json_schema(ref_template=f"#/$defs/{place}/$defs/{{model}}")
    parts: dict[str, Schema] = made.get("$defs", {})
    inner = {name: _keyed(part, parts) for name, part in parts.items() if "properties" in part}
    return {**_keyed(made, parts), **({"$defs": inner} if inner else {})}


def _keyed(schema: Schema, parts: Mapping[str, Schema]) -> Schema:
    """The object that holds a model's options under their keys and older names, instead of attributes."""
    keys: dict[str, Schema] = {}
    required: list[Schema] = []
    for name, written in schema["properties"].items():
        option = _nullable(_loose(_present(written), parts))
        key, older = written.get("key") or name, written.get("fallback") or []
        keys[key] = option
        for other in older:
            keys[other] = {**_without(option, "default"), "description": f"older name of {key}", "deprecated": True}
        if name in schema.get("required", ()) and not _may_be_object(option):
            names = dict.fromkeys(head for one in (key, *older) for head in (one, *_heads(one)))
            required.append({"anyOf": [{"required": [one]} for one in names]})
    return {**_level(keys, ""), **({"allOf": required} if required else {})}


def _level(keys: Mapping[str, Schema], prefix: str) -> Schema:
    """The object of all keys with that beginning, each whole or split at any of its dots."""
    rests = {key[len(prefix) :]: schema for key, schema in keys.items() if key.startswith(prefix)}
    found = {rest: [schema] for rest, schema in rests.items()}
    for head in dict.fromkeys(head for rest in rests for head in _heads(rest)):
        found.setdefault(head, []).append(_level(keys, f"{prefix}{head}."))
    # `schema.table = x` beside the option `schema` adds to its object.
    maps = [rest for rest, schema in rests.items() if _may_be_object(schema)]
    return {
        "type": "object",
        "properties": {name: one[0] if len(one) == 1 else {"anyOf": one} for name, one in found.items()},
        "patternProperties": {f"^{_quoted(rest)}[.]": {} for rest in maps},
        "additionalProperties": False,
    }


def _loose(schema: Schema, parts: Mapping[str, Schema]) -> Schema:
    """Extend the schema by every other form that job files may use."""
    reference = parts.get(str(schema.get("$ref", "")).rpartition("/")[2], {})
    made = _without(schema, *UNTOLD)
    if "enum" in reference:
        made = {**_without(reference, *UNTOLD), **_without(made, "$ref")}
    choices = [made["const"]] if "const" in made else made.get("enum")
    if choices:
        either = [{"enum": choices}, {"type": "string", "pattern": _any_case(choices, variables=True)}]
        return {**_without(made, "const", "enum", "type"), "anyOf": either}
    if "anyOf" in made:
        made["anyOf"] = [_loose(one, parts) for one in made["anyOf"]]
    for name in ("items", "additionalProperties"):
        if isinstance(made.get(name), dict):
            made[name] = _loose(made[name], parts)
    kind = made.get("type")
    if kind in SPELLINGS:
        made["type"] = SPELLINGS[kind]
    elif kind == "array" and not _may_be_object(made.get("items", {})):
        made["type"] = ["array", "string"]
    elif kind == "object" and isinstance(made.get("additionalProperties"), dict):
        # A map's dotted names nest like other keys.
        member = made["additionalProperties"]
        made["additionalProperties"] = member if _may_be_object(member) else {"anyOf": [member, {"type": "object"}]}
    return made


def _present(schema: Schema) -> Schema:
    """Drop null from an option, as type and as default: many unions exist only for it."""
    made = _without(schema, "default") if schema.get("default") is None else dict(schema)
    others = [one for one in made.get("anyOf", ()) if one.get("type") != "null"]
    return {**others[0], **_without(made, "anyOf")} if len(others) == 1 else made


def _nullable(schema: Schema) -> Schema:
    """Null means absent, for every option."""
    if "type" in schema:
        kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        return {**schema, "type": [*kinds, "null"]}
    if "anyOf" in schema:
        return {**schema, "anyOf": [*schema["anyOf"], {"type": "null"}]}
    if "$ref" in schema:
        return {**_without(schema, "$ref"), "anyOf": [{"$ref": schema["$ref"]}, {"type": "null"}]}
    return schema


def _may_be_object(schema: Schema) -> bool:
    kinds = schema.get("type", [])
    if "anyOf" in schema:
        return any(_may_be_object(one) for one in schema["anyOf"])
    return "$ref" in schema or (not kinds and "enum" not in schema) or "object" in kinds


def _heads(key: str) -> list[str]:
    """Every prefix of a key that ends before a dot."""
    return [key[:at] for at, letter in enumerate(key) if letter == "."]


def _any_case(choices: Iterable[Any], *, variables: bool = False) -> str:
    """Choices as the options compare them; a variable may replace any of them."""
    spelt = "|".join("".join(map(_any_letter, str(choice))) for choice in choices)
    return rf"^\s*({spelt})\s*$" + (r"|\$\{" if variables else "")


def _any_letter(letter: str) -> str:
    if letter in "-_":
        return "[-_]"
    return f"[{letter.upper()}{letter.lower()}]" if letter.upper() != letter.lower() else _quoted(letter)


def _quoted(text: str) -> str:
    """Escape a text for a pattern, for engines stricter than Python's about escapes."""
    return re.sub(r"([\\^$.*+?()\[\]{}|/])", r"\\\1", text)


def _without(schema: Mapping[str, Any], *names: str) -> Schema:
    return {name: value for name, value in schema.items() if name not in names}
