"""Rules between the options of one model, and checks of declarations when a model class is created."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from string import Formatter

from seatunnel_py.api.options.values import folded

Given = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Rule:
    """A condition between several options of one model.

    ``text`` describes it, with attribute names in braces, which are shown as job-file keys.
    ``holds`` gets the given values, and the same with defaults, by attribute name.
    """

    text: str
    holds: Callable[[Given, Given], bool]

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes that the rule concerns."""
        return tuple(name for _, name, _, _ in Formatter().parse(self.text) if name)


def _listed(names: tuple[str, ...], last: str) -> str:
    braced = [f"{{{name}}}" for name in names]
    return f" {last} ".join([", ".join(braced[:-1]), braced[-1]]) if len(names) > 1 else braced[0]


def exactly_one(*names: str) -> Rule:
    """Exactly one of the options must be given."""
    return Rule(f"exactly one of {_listed(names, 'or')} must be given", lambda given, _: _count(names, given) == 1)


def at_most_one(*names: str) -> Rule:
    """At most one of the options may be given."""
    return Rule(f"only one of {_listed(names, 'or')} may be given", lambda given, _: _count(names, given) <= 1)


def at_least_one(*names: str) -> Rule:
    """One or more of the options must be given."""
    return Rule(f"at least one of {_listed(names, 'or')} must be given", lambda given, _: _count(names, given) >= 1)


def together(*names: str) -> Rule:
    """All of the options must be given, or none."""
    return Rule(
        f"{_listed(names, 'and')} must be given together",
        lambda given, _: _count(names, given) in (0, len(names)),
    )


def required_when(name: str, *, other: str, equals: tuple[object, ...]) -> Rule:
    """The option must be given if ``other`` (or its default) has one of the values."""
    wanted = frozenset(folded(value) for value in equals)
    shown = " or ".join(str(getattr(value, "value", value)) for value in equals)
    return Rule(
        f"{{{name}}} is required when {{{other}}} is {shown}",
        lambda given, known: name in given or folded(known.get(other)) not in wanted,
    )


def _count(names: tuple[str, ...], given: Given) -> int:
    return sum(name in given for name in names)


# ---------------------------------------------------------------- declarations


def refuse_names(model: str, fields: Collection[str], reserved: Collection[str]) -> None:
    """Raise TypeError if an option has a name that the model itself needs."""
    for name in fields:
        if name in reserved:
            remedy = f'give the attribute another name: option(key="{name}")'
            raise TypeError(f"{model}.{name}: options cannot have this name; {remedy}")


def refuse_rules(model: str, fields: Collection[str], rules: object) -> None:
    """Raise TypeError if a rule names an option that does not exist."""
    if not (isinstance(rules, tuple) and all(isinstance(rule, Rule) for rule in rules)):
        raise TypeError(f"{model}.rules has to be a tuple of rules: rules = (together(...),)")
    for name in (name for rule in rules for name in rule.names if name not in fields):
        near = next(iter(difflib.get_close_matches(name, fields, n=1)), "")
        meant = f"; did you mean {near!r}?" if near else ""
        raise TypeError(f"{model}.rules: there is no option {name!r}{meant}")
