"""How a job file's plain values come near to declared types, before pydantic refuses what does not fit."""

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
    """One spelling for values that mean the same: enum members, their text in any case, booleans as text."""
    return str(value.value if isinstance(value, Enum) else value).casefold().replace("-", "_")


def alternatives(kind: Any) -> tuple[Any, ...]:
    """The types that a (possibly optional, annotated) declaration stands for."""
    origin = get_origin(kind)
    if origin is Annotated:
        return alternatives(get_args(kind)[0])
    if origin in (Union, types.UnionType):
        return tuple(one for part in get_args(kind) for one in alternatives(part))
    return (kind,)


def adapted(kind: Any, value: Any) -> Any:
    """Bring a job file's value near to the declared type; pydantic refuses what does not fit."""
    kinds = alternatives(kind)
    if Any in kinds or object in kinds:
        return value
    if isinstance(value, bool):
        # Where no truth value belongs, `true` is the text; pydantic would make a 1 of it.
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
    """The list or map that a text spells as JSON, where one is asked for and text is not: what a variable between
    quotes becomes."""
    if {str, SecretStr} & set(kinds) or not text.strip().startswith(("[", "{")):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):  # then it is no container, which whoever asks for one says
        return None
    return found if isinstance(found, list | dict) else None


def _is_scalar(kind: Any) -> bool:
    """No container, no model and not ``Any``: something that one text can spell."""
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
    """The rules of ``table_transform`` with keys as they are written now; older job files say ``tablePath``."""
    if not isinstance(rules, Sequence) or isinstance(rules, str):
        return rules
    older = {re.sub("_([a-z])", lambda letter: letter[1].upper(), key): key for key in keys}
    return tuple(
        {older.get(key, key): value for key, value in rule.items()} if isinstance(rule, Mapping) else rule
        for rule in rules
    )
