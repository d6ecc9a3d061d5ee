"""As much of JSON Schema as our schema uses; a keyword that is not known here is an error, not a check that is left out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

TOLD = {"$schema", "$defs", "title", "description", "default", "deprecated", "format"}
KINDS: Mapping[str, Any] = {
    "null": type(None),
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "string": str,
    "array": list,
    "object": dict,
}
NUMBERS = {
    "minimum": lambda value, limit: value >= limit,
    "maximum": lambda value, limit: value <= limit,
    "exclusiveMinimum": lambda value, limit: value > limit,
    "multipleOf": lambda value, limit: value % limit == 0,
}
SIZES = {"minLength": str, "minItems": list, "minProperties": dict}


def broken(schema: Any, value: Any, root: Any) -> Iterator[str]:
    """The keywords that a value breaks, each with the place where it stands."""
    if isinstance(schema, bool):
        yield from () if schema else ["false"]
        return
    for word, limit in schema.items():
        if word == "$ref":
            yield from broken(_referred(root, limit), value, root)
        elif word in ("allOf", "anyOf"):
            outcomes = [list(broken(one, value, root)) for one in limit]
            if word == "allOf" or all(outcomes):
                yield from (f"{word}: {text}" for texts in outcomes for text in texts)
        elif word == "if":
            yield from () if list(broken(limit, value, root)) else broken(schema["then"], value, root)
        elif word not in TOLD | {"then"}:
            yield from _within(word, limit, schema, value, root)


def _within(word: str, limit: Any, schema: Any, value: Any, root: Any) -> Iterator[str]:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if word == "type":
        holds = any(_is(kind, value) for kind in ([limit] if isinstance(limit, str) else limit))
    elif word == "enum":
        holds = value in limit
    elif word in NUMBERS:
        holds = not number or NUMBERS[word](value, limit)
    elif word in SIZES:
        holds = not isinstance(value, SIZES[word]) or len(value) >= limit
    elif word == "pattern":
        holds = not isinstance(value, str) or bool(re.search(limit, value))
    elif word == "required":
        holds = not isinstance(value, dict) or set(limit) <= value.keys()
    elif word == "items":
        holds = True
        for at, item in enumerate(value if isinstance(value, list) else ()):
            yield from (f"[{at}].{text}" for text in broken(limit, item, root))
    elif word in ("properties", "patternProperties", "additionalProperties"):
        holds = True
        for name, item in value.items() if isinstance(value, dict) else ():
            for part in _of_property(word, limit, schema, name):
                yield from (f"{name}.{text}" for text in broken(part, item, root))
    else:
        raise AssertionError(f"{word} is not known here")
    yield from () if holds else [f"{word} {limit}"[:200]]


def _of_property(word: str, limit: Any, schema: Any, name: str) -> list[Any]:
    if word == "properties":
        return [limit[name]] if name in limit else []
    patterns = [pattern for pattern in schema.get("patternProperties", {}) if re.search(pattern, name)]
    if word == "patternProperties":
        return [limit[pattern] for pattern in patterns]
    return [] if patterns or name in schema.get("properties", {}) else [limit]


def _is(kind: str, value: Any) -> bool:
    return isinstance(value, KINDS[kind]) and (kind == "boolean" or not isinstance(value, bool))


def _referred(root: Any, reference: str) -> Any:
    for part in reference.removeprefix("#/").split("/"):
        root = root[part]
    return root
