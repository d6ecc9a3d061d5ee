"""Resolves a step's tree and a plugin's option model to typed options, or to every problem at once.

Each problem names its file, line and column, the option as a path (``source[0].Jdbc.url``) and, for a misspelt name or
value, the nearest valid one. No message repeats a value: it may be a secret.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeVar, get_args, get_origin

from pydantic import ValidationError
from pydantic_core.core_schema import ErrorType

from seatunnel_py.api.options import JOB_FILE, Options, SinkOptions, SourceOptions, describe, secret_texts
from seatunnel_py.api.options.values import alternatives
from seatunnel_py.config.shade import Secrets
from seatunnel_py.config.tree import Node, SourcePlace
from seatunnel_py.config.variables import FILLED, RESERVED, references
from seatunnel_py.errors import Problem
from seatunnel_py.redaction import is_sensitive, keep_secret

PROBLEMS_MAX = 50
"""Problems of one step that are printed in full; a longer list goes unread, and finding near names takes time."""

SHORT_SECRET = 4
"""Shorter secrets are searched for as whole words."""

_SAFE_KINDS = {"rule", "repeated_key", "unknown_key", *get_args(ErrorType)} - {"value_error", "assertion_error"}
"""Errors whose messages hold no value; others come from a plugin's own code."""

_NAME = re.compile(r"[^\W\d][\w.-]*")
"""Valid names of variables; other texts between braces mean something else, perhaps the group of a pattern."""

M = TypeVar("M", bound=Options)


def resolve_options(
    node: Node, model: type[M], *, path: str, strict: bool = True, secrets: Secrets | None = None
) -> tuple[M | None, tuple[Problem, ...], tuple[Problem, ...]]:
    """Return typed options (None if there are problems), the problems, and notes on older or ignored keys.

    ``path`` names the whole step in problems. With ``strict`` unknown keys are problems, without it notes. References
    to secrets are resolved if ``secrets`` is given, and stay as written otherwise.
    """
    hidden: frozenset[str] = frozenset()
    missing: tuple[Problem, ...] = ()
    if secrets is not None:
        node, hidden, missing = secrets.revealed(node)
        missing = tuple(_below(path, problem) for problem in missing)
    notes = [*_older_names(node, model, path), *_without_value(node, model, path)]
    options, found = _validated(node.plain(), model)
    unknown = [error for error in found if error["type"] == "unknown_key"]
    if ignorable := [error for error in unknown if not strict or _without_effect(model, error["loc"])]:
        ignored = [_spot(node, model, error) for error in ignorable]
        notes += [spot.place.problem("unknown option, ignored", path=spot.path(path)) for spot in ignored]
        options, found = _validated(node.plain(frozenset(id(spot.node) for spot in ignored)), model)
    found = _without_misspelt(node, model, found)
    hidden |= _secret_texts(node, model) if found else frozenset()
    problems = dict.fromkeys(_problem(node, model, error, path, hidden) for error in found[:PROBLEMS_MAX])
    both = (*missing, *problems)
    if len(found) > PROBLEMS_MAX:
        both = (*both, node.place.problem(f"and {len(found) - PROBLEMS_MAX} more problems", path=path))
    keep_secret(secret_texts(options))
    return (None if both else options), both, tuple(notes)


def _without_effect(model: type[Options], loc: tuple[str | int, ...]) -> bool:
    """The name of an end that a step does not have: in SeaTunnel every step accepts both, and job files set them."""
    if issubclass(model, SourceOptions):
        return loc in (("plugin_input",), ("source_table_name",))
    return issubclass(model, SinkOptions) and loc in (("plugin_output",), ("result_table_name",))


def _validated(plain: Any, model: type[M]) -> tuple[M | None, list[Any]]:
    try:
        return model.model_validate(plain, context={JOB_FILE: True}), []
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)
        return None, [one for one in found if not _follows(one, found)]


def _without_misspelt(node: Node, model: type[Options], errors: list[Any]) -> list[Any]:
    """An option, or one that a rule requires, is missing because its name is misspelt: report the unknown name, and
    suggest the option."""
    absent = [_absent(node, model, error) for error in errors]
    if not any(absent):  # the search for near names is slow, and a file may have thousands of unknown ones
        return errors
    meant = set()
    for error in errors:
        if error["type"] == "unknown_key":
            spot = _spot(node, model, error)
            meant.add((error["loc"][:-1], _nearest_key(spot.names[-1], spot.model)))
    return [error for error, keys in zip(errors, absent, strict=True) if meant.isdisjoint(keys)]


def _absent(node: Node, model: type[Options], error: Any) -> list[tuple[tuple[str | int, ...], str]]:
    """Options, each below its location, whose presence would mend the error."""
    if error["type"] == "missing":
        return [(error["loc"][:-1], _spot(node, model, error).names[-1])]
    if error["type"] == "rule":
        return [(error["loc"], key) for key in error["ctx"]["absent"]]
    return []


def _follows(error: Any, errors: Iterable[Any]) -> bool:
    """Pydantic finds a list too short if its entries are wrong: report those instead."""
    loc = error["loc"]
    return error["type"] == "too_short" and any(
        len(other["loc"]) > len(loc) and other["loc"][: len(loc)] == loc for other in errors
    )


@dataclass(frozen=True, slots=True)
class _Spot:
    """The place of an error: the nearest piece that is written in the file, and the option's names."""

    node: Node
    names: tuple[str, ...]
    model: type[Options] | None
    kinds: tuple[Any, ...]
    given: bool

    @property
    def place(self) -> SourcePlace:
        return self.node.place

    def path(self, whole: str) -> str:
        return whole + "".join(name if name.startswith("[") else f".{name}" for name in self.names)


def _spot(node: Node, model: type[Options], error: Any) -> _Spot:
    """Locate an error in the file. An error about a key ends its location with the key itself, as written."""
    loc: tuple[str | int, ...] = error["loc"]
    if error["type"] not in ("unknown_key", "repeated_key"):
        return _locate(node, model, loc)
    owner, key = _locate(node, model, loc[:-1]), str(loc[-1])
    found = owner.node.find(key)
    return _Spot(found or owner.node, (*owner.names, key), owner.model, (), found is not None)


def _locate(node: Node, model: type[Options], loc: Iterable[str | int]) -> _Spot:
    """Follow pydantic's location (attributes, indexes, tags of unions) through the written tree."""
    names: list[str] = []
    current: type[Options] | None = model
    kinds: tuple[Any, ...] = (model,)
    given = True
    for part in loc:
        child: Node | None = None
        if isinstance(part, int):
            child = node.items[part] if part < len(node.items) else None
            kinds = tuple(kind for one in kinds for kind in _members(one, 0))
            names.append(f"[{part}]")
        elif current is not None:
            key, child, kinds = _field(node, current, part)
            names.append(key)
        elif any(get_origin(kind) is dict for kind in kinds) and (child := node.find(part)) is not None:
            kinds = tuple(kind for one in kinds for kind in _members(one, 1))
            names.append(part)
        else:  # tag of a union's branch: not a level of the file
            kinds = tuple(kind for kind in kinds if getattr(kind, "__name__", "") == part) or kinds
            current = _model(kinds)
            continue
        given = child is not None
        node = child or node
        current = _model(kinds)
    return _Spot(node, tuple(names), current, kinds, given)


def _field(node: Node, model: type[Options], part: str) -> tuple[str, Node | None, tuple[Any, ...]]:
    """Return the key of an attribute as written, its node, and its types; for an unknown key only the node."""
    for info in describe(model):
        if info.name == part:
            kinds = alternatives(model.model_fields[part].annotation)
            written = [key for key in (info.key, *info.fallback) if node.find(key) is not None]
            key = written[0] if written else info.key
            return key, node.find(key), kinds
    return part, node.find(part), ()


def _members(kind: Any, index: int) -> tuple[Any, ...]:
    arguments = get_args(kind)
    return alternatives(arguments[index]) if len(arguments) > index else ()


def _model(kinds: tuple[Any, ...]) -> type[Options] | None:
    models = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Options)]
    return models[0] if len(models) == 1 else None


def _problem(node: Node, model: type[Options], error: Any, path: str, hidden: frozenset[str]) -> Problem:
    kind: str = error["type"]
    spot = _spot(node, model, error)
    message, suggestion = _message(kind, error["msg"]), ""
    if kind == "unknown_key":
        suggestion = _nearest_key(spot.names[-1], spot.model)
        if of_env := _key_of_env(".".join(spot.names), spot.node):
            return spot.place.problem(
                message, path=spot.path(path), remedy=f"it belongs to env: env {{ {of_env} = ... }}"
            )
    elif kind == "missing":
        message = "required option is missing"
    elif kind in ("enum", "literal_error"):
        choices = re.findall(r"'([^']*)'", str(error.get("ctx", {}).get("expected", "")))
        message = "must be one of " + ", ".join(choices)
        suggestion = nearest(str(spot.node.value), choices)
    if kind not in _SAFE_KINDS and any(_shows(message, secret) for secret in hidden):
        message = "not valid; the reason is withheld, for it would show a secret"
    text = spot.node.value if spot.given and kind != "unknown_key" else None
    unset = next(references(text), None) if isinstance(text, str) else None
    remedy = f"The variable is not set: give it with -i {unset[1]}=..." if unset else ""
    return spot.place.problem(message, path=spot.path(path), suggestion=suggestion, remedy=remedy)


def _shows(message: str, secret: str) -> bool:
    """Whether the message shows the secret. A short one appears inside words by chance, which reveals nothing."""
    if len(secret) >= SHORT_SECRET:
        return secret in message
    return re.search(rf"(?<!\w){re.escape(secret)}(?!\w)", message) is not None


def _key_of_env(name: str, node: Node) -> str:
    """The option of ``env`` that was written into a step, as one name or as an object."""
    from seatunnel_py.config.env import EnvOptions

    keys = {key for info in describe(EnvOptions) for key in (info.key, *info.fallback)}
    inner = node.value if isinstance(node.value, dict) else {}
    return next((key for key in (name, *(f"{name}.{key}" for key in inner)) if key in keys), "")


def _nearest_key(name: str, model: type[Options] | None) -> str:
    """The declared key that was probably meant: one that ends in the same word, or looks alike."""
    keys = [info.key for info in describe(model)] if model else []
    last = name.rpartition(".")[2]
    same = [key for key in keys if key.rpartition(".")[2] == last]
    return same[0] if len(same) == 1 else nearest(name, keys) or (nearest(last, keys) if last != name else "")


def nearest(name: str, names: Iterable[str]) -> str:
    """The name that was probably meant, or an empty text: the only one that has this name as its first words, else the
    one with the most letters in common."""
    by_fold, asked = {known.casefold(): known for known in names}, name.casefold()[:100]
    found = [known for known in by_fold if asked and known.startswith((f"{asked}_", f"{asked}.", f"{asked}-"))]
    if len(found) != 1:
        found = difflib.get_close_matches(asked, by_fold, n=1, cutoff=0.6)
    return by_fold[found[0]] if found else ""


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """A question about the nearest name, before the rest of a remedy; empty without one."""
    near = nearest(name, names)
    return f"did you mean {near!r}? " if near else ""


def _message(kind: str, message: str) -> str:
    """Reword pydantic's message for the author of a job file."""
    if kind in ("value_error", "assertion_error"):
        return re.sub(r"^(?:Value|Assertion) error, ", "", message)
    if kind == "tuple_type":
        return "must be a list"
    return re.sub(r"^Input should ", "must ", message)


def _older_names(node: Node, model: type[Options], path: str) -> Iterable[Problem]:
    for info in describe(model):
        for key in info.fallback:
            found = node.find(key)
            if found is not None:
                yield found.place.problem("older name", path=f"{path}.{key}", suggestion=info.key)


def _without_value(node: Node, model: type[Options], path: str) -> Iterable[Problem]:
    """Variables left unresolved, perhaps by a slip. An option that documents its own placeholders fills them in
    itself."""
    for info in describe(model):
        own = {match[1] for match in references(info.doc)} - RESERVED
        filled = FILLED if issubclass(model, SinkOptions) else RESERVED
        for key in () if own or info.secret else (info.key, *info.fallback):
            for text in _texts(found, key) if (found := node.find(key)) else ():
                for match in references(str(text.value)):
                    name = match[1].strip()
                    if match[2] is None and name not in filled and _NAME.fullmatch(name):
                        remedy = f"give it with -i {name}=..., or write ${{{name}:default}}"
                        yield text.place.problem(
                            f"${{{name}}} has no value and stays as it is written", path=f"{path}.{key}",
                            remedy=remedy, suggestion=nearest(name, sorted(filled)),
                        )  # fmt: skip


def _texts(node: Node, key: str) -> Iterable[Node]:
    """Options that are not secret by name: text between braces may be a part of a secret."""
    if is_sensitive(key):
        return
    if isinstance(node.value, str):
        yield node
    for name, child in node.value.items() if isinstance(node.value, dict) else (("", one) for one in node.children()):
        yield from _texts(child, name)


def _secret_texts(node: Node, model: type[Options]) -> frozenset[str]:
    """Every text of the step that is a secret by the type or by the name of its option."""
    secret_keys = {key for info in describe(model) if info.secret for key in (info.key, *info.fallback)}
    texts: set[str] = set()

    def note(path: str, leaf: Node) -> None:
        if isinstance(leaf.value, str) and (is_sensitive(path) or path in secret_keys):
            texts.add(leaf.value)

    node.mapped(note)
    return frozenset(texts - {""})


def _below(path: str, problem: Problem) -> Problem:
    return replace(problem, path=f"{path}.{problem.path}")
