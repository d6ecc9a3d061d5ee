"""The options of a model as tables, in groups: name, type, default, meaning, allowed values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from annotated_types import Ge, Gt, Le, Lt, MaxLen, MinLen

from seatunnel_py.api import Options
from seatunnel_py.api.options import OptionInfo, describe
from seatunnel_py.api.options.values import alternatives
from tests.docs.site.groups import REQUIRED, grouped
from tests.docs.site.installed import Plugin, all_models, nested
from tests.docs.site.markdown import code, plain, sentence, table

HEAD = ("option", "type", "default", "meaning")
LIMITS = {Ge: "at least {}", Gt: "more than {}", Le: "at most {}", Lt: "less than {}"}


def of_plugin(plugin: Plugin) -> str:
    """All options of a plugin: its groups, its rules, and the objects inside of it."""
    prefix = f"{plugin.kind.value}-"
    parts = [_rules(plugin.model)]
    for group, infos in grouped(plugin):
        head = f"### {group.title} {{ #{prefix}{group.anchor} }}"
        parts.append(f"{head}\n\n{group.about}{_table(plugin.model, infos, prefix)}")
    parts += list(objects(plugin.model, prefix))
    return "\n".join(part for part in parts if part)


def objects(model: type[Options], prefix: str) -> Iterator[str]:
    """The objects inside of a model, each as a section."""
    for path, inner in all_models(model)[1:]:
        head = f"### Inside {code(path)} {{ #{prefix}in-{_anchor(path)} }}"
        yield f"{head}\n\n{_rules(inner)}{_table(inner, describe(inner), f'{prefix}{path}.')}"


def _rules(model: type[Options]) -> str:
    keys = {info.name: code(info.key) for info in describe(model)}
    lines = [f"- {sentence(plain(rule.text.format_map(keys).replace(' True', ' true')))}\n" for rule in model.rules]
    return "Rules between options:\n\n" + "".join(lines) + "\n" if lines else ""


def _table(model: type[Options], infos: Sequence[OptionInfo], prefix: str) -> str:
    return table(HEAD, (of_row(model, info, prefix) for info in infos))


def of_row(model: type[Options], info: OptionInfo, prefix: str) -> tuple[str, str, str, str]:
    """One option as a line of a table, with an anchor of its own."""
    name = f'<a id="{prefix}{info.key}"></a>{code(info.key)}'
    return name, plain(_type(info)), _default(model, info), meaning(model, info)


_CHOICES = re.compile(r"(?:list of |map of )?([^ ]+(?: \| [^ ]+)+)")


def _type(info: OptionInfo) -> str:
    """The type without the values of an enumeration, which stand with the meaning."""
    choices = _CHOICES.fullmatch(info.type)
    return info.type.replace(choices[1], "choice") if choices else info.type


def _default(model: type[Options], info: OptionInfo) -> str:
    if info.required:
        return f"*{REQUIRED}*"
    inner = any(other.name == info.name for other, _ in nested(model))
    return code(info.default) if info.default and not inner else ""


def meaning(model: type[Options], info: OptionInfo) -> str:
    """Everything that the model knows of an option, beside its name, type and default."""
    field = model.model_fields[info.name]
    parts = [sentence(plain(info.doc))]
    if values := allowed(info, field):
        parts.append(f"Allowed: {values}.")
    if any(other.name == info.name for other, _ in nested(model)):
        parts.append("Its own options stand below.")
    if info.fallback:
        parts.append(f"Older name: {', '.join(map(code, info.fallback))}.")
    return " ".join(parts)


def allowed(info: OptionInfo, field: Any) -> str:
    """The values of an enumeration, or the limits of a number or a text."""
    if choices := _CHOICES.fullmatch(info.type):
        return ", ".join(map(code, choices[1].split(" | ")))
    if info.choices:
        return ", ".join(map(code, info.choices))
    limits = [LIMITS[type(one)].format(code(_bound(one))) for one in field.metadata if type(one) in LIMITS]
    sizes = [_size(one, field.annotation) for one in field.metadata if isinstance(one, MinLen | MaxLen)]
    return ", ".join([*limits, *sizes])


def _size(limit: MinLen | MaxLen, annotation: Any) -> str:
    unit = "characters" if str in alternatives(annotation) else "entries"
    if isinstance(limit, MinLen):
        return "not empty" if limit.min_length == 1 else f"at least {limit.min_length} {unit}"
    return f"at most {limit.max_length} {unit}"


def _bound(limit: Any) -> str:
    return str(getattr(limit, type(limit).__name__.lower()))


def _anchor(path: str) -> str:
    return path.lower().replace(".", "-")
