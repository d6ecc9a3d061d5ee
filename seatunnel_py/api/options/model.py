"""Options of a step, declared once as a pydantic model.

The same declaration serves the job-file resolver, ``seatunnel plugins show`` and the documentation::

    class JdbcOptions(SourceOptions):
        url: str = option(doc="JDBC address of the database")
        username: str | None = option(None, fallback=("user",))
        password: Secret | None = option(None)
        split_size: int = option(8096, key="split.size", ge=1)
        rules = (together("username", "password"),)

A key may be dotted: ``split.size = 1``, ``split { size = 1 }`` and ``"split.size" = 1`` mean the same.
Variables put text where numbers belong, so text is parsed as a number, but never as NaN, as infinity, or as
a fraction for an integer. A ``tuple[str, ...]`` also accepts one text with commas, a ``dict[str, str]`` accepts
dotted and nested keys, and an enum ignores case.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Any, ClassVar, Literal, Self, get_args, get_origin

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    SecretStr,
    ValidationError,
    ValidationInfo,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError, PydanticUndefined

from seatunnel_py.api.names import Naming
from seatunnel_py.api.options.rules import Rule, refuse_names, refuse_rules
from seatunnel_py.api.options.values import SEQUENCES, adapted, alternatives
from seatunnel_py.redaction import redacted_value

Secret = SecretStr
"""The redacting type: its ``repr`` and ``str`` are asterisks; ``get_secret_value()`` is the text."""


def secret_texts(value: Any) -> frozenset[str]:
    """Return the texts of all secrets in an options value, at any depth."""
    match value:
        case SecretStr():
            return frozenset({value.get_secret_value()})
        case BaseModel():
            return secret_texts(value.__dict__)  # dict(value) would call an option that is named `keys`
        case Mapping():
            return frozenset().union(*map(secret_texts, value.values()))
        case list() | tuple():
            return frozenset().union(*map(secret_texts, value))
    return frozenset()


JOB_FILE = "job_file"
"""Validation context for job files: attribute names are not accepted as keys, and null means absent."""


def option(
    default: Any = ..., *, key: str | None = None, fallback: Iterable[str] = (), doc: str = "",
    naming: Naming | None = None, **limits: Any,
) -> Any:  # fmt: skip
    """Declare one option. Without a default it is required.

    ``key`` is the name in the job file if it differs from the attribute; ``fallback`` are older names that still
    work. ``naming``: the option names a sink's target. ``limits`` are pydantic's (``ge``, ``lt``, ``min_length``, ...).
    Make a default that is a model with ``model_construct``: a checked one builds its schema in every process.
    """
    names: dict[str, Any] = {"key": key, "fallback": list(fallback)} | ({"naming": naming} if naming else {})
    return Field(default, description=doc or None, json_schema_extra=names, **limits)


# ---------------------------------------------------------------- the model


_RESERVED = frozenset({"rules", *(name for name in dir(BaseModel) if name.startswith("model_"))})
"""Names that the model itself needs. Options may have the names of pydantic's deprecated methods (``copy``, ``dict``,
``json``, ``schema``), because these are never called."""

warnings.filterwarnings("ignore", r'Field name "\w+" in "\w+" shadows an attribute in parent "\w+"', UserWarning)


class Options(BaseModel):
    """Base of every option model: frozen, refuses unknown names, and shows no values in its errors."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        hide_input_in_errors=True,
        allow_inf_nan=False,
        coerce_numbers_to_str=True,
        defer_build=True,  # a job uses few of the models that it loads, and building one takes milliseconds
    )

    rules: ClassVar[tuple[Rule, ...]] = ()
    """Conditions between several options; every violation is reported."""

    @classmethod
    def __pydantic_init_subclass__(cls, **arguments: Any) -> None:
        """Refuse a model that would fail when a job file is read. The error names class and option."""
        super().__pydantic_init_subclass__(**arguments)
        refuse_names(cls.__name__, cls.__pydantic_fields__, _RESERVED)
        refuse_rules(cls.__name__, cls.__pydantic_fields__, cls.rules)

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        """Values without secrets, which may also be in maps and addresses."""
        for name, value in super().__repr_args__():
            yield name, redacted_value(name or "", value)

    @model_validator(mode="wrap")
    @classmethod
    def _gathered(cls, data: Any, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo) -> Self:
        """Map keys to attribute names; report unknown names and violated rules together with pydantic's errors."""
        if not isinstance(data, Mapping):
            return handler(data)
        values, errors = _gather(cls, data, from_file=bool(info.context and info.context.get(JOB_FILE)))
        errors += _broken_rules(cls, values)
        if not errors:
            return handler(values)
        try:
            handler(values)
        except ValidationError as found:
            errors += map(_again, found.errors(include_url=False, include_input=False))
        raise ValidationError.from_exception_data(cls.__name__, errors, hide_input=True)


@dataclass(frozen=True, slots=True)
class _Layout:
    """Keys of one model: maps each key or older name to its attribute, and knows the prefixes of dotted keys."""

    attributes: Mapping[str, str]
    prefixes: frozenset[str]


@lru_cache(maxsize=1024)
def _layout(model: type[Options]) -> _Layout:
    attributes = {name: info.name for info in describe(model) for name in (*info.fallback, info.key)}
    prefixes = {key[:at] for key in attributes for at, letter in enumerate(key) if letter == "."}
    return _Layout(attributes, frozenset(prefixes))


def _gather(
    model: type[Options], data: Mapping[str, Any], *, from_file: bool
) -> tuple[dict[str, Any], list[InitErrorDetails]]:
    """Values by attribute name, and an error for each key that is unknown or repeats another."""
    layout = _layout(model)
    values: dict[str, Any] = {}
    errors: list[InitErrorDetails] = []
    used: dict[str, str] = {}
    for key, value in _declared(layout, data, ""):
        attribute = layout.attributes.get(key) or (key if not from_file and key in model.model_fields else None)
        if attribute is None:
            errors.append(_error("unknown_key", "unknown option", key))
        elif value is None and from_file:
            continue
        elif attribute not in used:
            used[attribute] = key
            values[attribute] = adapted(model.model_fields[attribute].annotation, value)
        elif used[attribute] == key and isinstance(values[attribute], dict) and isinstance(value, Mapping):
            values[attribute] |= adapted(model.model_fields[attribute].annotation, value)
        else:
            errors.append(_error("repeated_key", f"says the same as {used[attribute]!r}: give only one", key))
    return values, errors


def _declared(layout: _Layout, data: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    """Pairs of declared (or unknown) key and value, for every spelling of a path with dots, quotes or braces."""
    for name, value in data.items():
        path = f"{prefix}{name}"
        if path in layout.prefixes and isinstance(value, Mapping):
            yield from _declared(layout, value, f"{path}.")
        elif path in layout.attributes:
            yield path, value
        else:
            cuts = [at for at, letter in enumerate(path) if letter == "." and path[:at] in layout.attributes]
            yield (path[: cuts[-1]], {path[cuts[-1] + 1 :]: value}) if cuts else (path, value)


def _broken_rules(model: type[Options], values: Mapping[str, Any]) -> list[InitErrorDetails]:
    if not model.rules:
        return []
    given = {name: value for name, value in values.items() if value is not None}
    defaults = {name: field.default for name, field in model.model_fields.items() if not field.is_required()}
    keys = {info.name: info.key for info in describe(model)}
    broken = (rule for rule in model.rules if not rule.holds(given, defaults | given))
    return [_broken(rule, given, defaults | given, keys) for rule in broken]


def _broken(
    rule: Rule, given: Mapping[str, Any], known: Mapping[str, Any], keys: Mapping[str, str]
) -> InitErrorDetails:
    """Error of a violated rule; ``absent`` are the options of which one more would satisfy it."""
    missing = [name for name in rule.names if name not in given]
    absent = tuple(keys[name] for name in missing if rule.holds({**given, name: True}, {**known, name: True}))
    context = {"message": rule.text.format_map(keys), "absent": absent}
    return InitErrorDetails(type=PydanticCustomError("rule", "{message}", context), loc=(), input=None)


def _error(kind: str, message: str, *loc: str) -> InitErrorDetails:
    # The message is a value of its template, because it may contain braces from the job file.
    error = PydanticCustomError(kind, "{message}", {"message": message})
    return InitErrorDetails(type=error, loc=loc, input=None)


def _again(found: Any) -> InitErrorDetails:
    """Convert an error that pydantic reported to the form in which it can be raised again."""
    try:
        again = InitErrorDetails(type=found["type"], loc=found["loc"], input=None, ctx=found.get("ctx", {}))
        ValidationError.from_exception_data("", [again])
    except (KeyError, TypeError):  # a kind of error defined here, for which pydantic has no template
        kind, message = found["type"], {**found.get("ctx", {}), "message": found["msg"]}
        again = InitErrorDetails(type=PydanticCustomError(kind, "{message}", message), loc=found["loc"], input=None)
    return again


# ---------------------------------------------------------------- introspection


@dataclass(frozen=True, slots=True)
class OptionInfo:
    """One declared option, for documentation and command line."""

    name: str
    key: str
    fallback: tuple[str, ...]
    type: str
    default: str
    required: bool
    secret: bool
    doc: str
    choices: tuple[str, ...] = ()
    naming: Naming | None = None


@lru_cache(maxsize=1024)
def describe(model: type[Options]) -> tuple[OptionInfo, ...]:
    """Every option of a model, in the order of declaration."""
    return tuple(_info(name, field) for name, field in model.model_fields.items())


def _info(name: str, field: Any) -> OptionInfo:
    extra = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
    kinds = alternatives(field.annotation)
    return OptionInfo(
        name=name,
        key=extra.get("key") or name,
        fallback=tuple(extra.get("fallback") or ()),
        type=_type_text(field.annotation),
        default="" if SecretStr in kinds else _default_text(field.default),
        required=field.is_required(),
        secret="secret" in _type_text(field.annotation).split(),
        doc=field.description or "",
        choices=tuple(str(c.value) for k in kinds if isinstance(k, type) and issubclass(k, Enum) for c in k),
        naming=Naming(str(extra["naming"])) if "naming" in extra else None,
    )


_WORDS = {str: "string", int: "int", float: "float", bool: "bool", SecretStr: "secret", Any: "any"}


def _type_text(kind: Any) -> str:
    """The type in words: ``list of string``, ``map of int``, ``A | B``."""
    texts = []
    for one in alternatives(kind):
        origin, arguments = get_origin(one) or one, get_args(one)
        if one is type(None):
            continue
        if origin in SEQUENCES:
            texts.append(f"list of {_type_text(arguments[0])}" if arguments else "list")
        elif origin in (dict, Mapping):
            texts.append(f"map of {_type_text(arguments[1])}" if arguments else "map")
        elif origin is Literal:
            texts.append(" | ".join(map(str, arguments)))
        elif isinstance(one, type) and issubclass(one, Enum):
            texts.append(" | ".join(str(member.value) for member in one))
        else:
            is_model = isinstance(one, type) and issubclass(one, BaseModel)
            texts.append("object" if is_model else _WORDS.get(one, str(getattr(one, "__name__", one))))
    return " or ".join(dict.fromkeys(texts))


def _default_text(default: Any) -> str:
    if default is None or default is PydanticUndefined or default in ((), [], {}):
        return ""
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, tuple | list):
        return "[" + ", ".join(map(_default_text, default)) + "]"
    return str(default.value if isinstance(default, Enum) else default)
