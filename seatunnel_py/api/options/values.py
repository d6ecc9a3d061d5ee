"""Converts plain values of a job file to declared types, as far as they fit; pydantic refuses the others."""

from __future__ import annotations

import json
import re
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import SecretStr

SEQUENCES = (list, tuple, set, frozenset)


def folded(value: object) -> str:
    """One spelling for equal values: enum members, their text in any case, booleans as text."""
    return str(value.value if isinstance(value, Enum) else value).casefold().replace("-", "_")


def alternatives(kind: Any) -> tuple[Any, ...]:
    """The types that an annotation allows, without None and ``Annotated``."""
    origin = get_origin(kind)
    if origin is Annotated:
        return alternatives(get_args(kind)[0])
    if origin in (Union, types.UnionType):
        return tuple(one for part in get_args(kind) for one in alternatives(part))
    return (kind,)


def adapted(kind: Any, value: Any) -> Any:
    """Convert a job file's value to the declared type, if it fits; pydantic refuses the others."""
    kinds = alternatives(kind)
    if Any in kinds or object in kinds:
        return value
    if isinstance(value, bool):
        # If the type is not boolean, `true` is a text; pydantic would turn it into 1.
        return value if bool in kinds else str(value).lower()
    if isinstance(value, str):
        contained = _contained(kinds, value)
        return _adapted_text(kinds, value) if contained is None else adapted(kind, contained)
    if isinstance(value, list | tuple):
        items = [get_args(one)[0] for one in kinds if get_origin(one) in SEQUENCES]
        return [adapted(items[0], item) for item in value] if items else value
    if isinstance(value, Mapping):
        members = [get_args(one)[1] for one in kinds if get_origin(one) in (dict, Mapping)]
        if members and _is_scalar(members[0]):
            value = dict(_flattened(value, ""))
        return {key: adapted(members[0], item) for key, item in value.items()} if members else value
    return value


def _adapted_text(kinds: tuple[Any, ...], text: str) -> Any:
    for one in kinds:
        choices = list(one) if isinstance(one, type) and issubclass(one, Enum) else ()
        if get_origin(one) is Literal:
            choices = get_args(one)
        for choice in choices:
            if folded(text.strip()) in (folded(choice), folded(getattr(choice, "name", choice))):
                return choice
    items = [get_args(one)[0] for one in kinds if get_origin(one) in SEQUENCES]
    if items and _is_scalar(items[0]) and not {str, SecretStr} & set(kinds):
        parts = (part.strip() for part in text.split(","))
        return [adapted(items[0], part) for part in parts if part]
    return text


def _contained(kinds: tuple[Any, ...], text: str) -> list[Any] | dict[str, Any] | None:
    """Parse a list or map from a JSON text, if the type is a list or map and not text. A quoted variable gives such a
    text."""
    if {str, SecretStr} & set(kinds) or not text.strip().startswith(("[", "{")):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):  # not JSON: pydantic reports that a list or map is needed
        return None
    return found if isinstance(found, list | dict) else None


def _is_scalar(kind: Any) -> bool:
    """True for a type that one text can express: not a container, a model or ``Any``."""
    return all(
        one in (str, int, float, bool, SecretStr, type(None)) or (isinstance(one, type) and issubclass(one, Enum))
        for one in alternatives(kind)
    )


def _flattened(data: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for name, value in data.items():
        if isinstance(value, Mapping):
            yield from _flattened(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def of_older_spelling(rules: Any, keys: Iterable[str]) -> Any:
    """The rules of ``table_transform`` with today's keys; older job files write ``tablePath``."""
    if not isinstance(rules, Sequence) or isinstance(rules, str):
        return rules
    older = {re.sub("_([a-z])", lambda letter: letter[1].upper(), key): key for key in keys}
    return tuple(
        {older.get(key, key): value for key, value in rule.items()} if isinstance(rule, Mapping) else rule
        for rule in rules
    )
