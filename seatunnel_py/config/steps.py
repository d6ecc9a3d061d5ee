"""Collects the steps of a job file, in the order written and with repeated plugins, in either form::

source { Jdbc { ... }, Jdbc { ... } }
source = [ { plugin_name = Jdbc, ... }, { plugin_name = Jdbc, ... } ]
"""

from __future__ import annotations

from dataclasses import dataclass

from seatunnel_py.config.evaluate import Evaluation
from seatunnel_py.config.hocon import Expression, Field, Listed, Literal, ObjectExpression
from seatunnel_py.config.tree import Node, SourcePlace
from seatunnel_py.errors import Problem

KINDS = ("source", "transform", "sink")
NAME_KEY = "plugin_name"


@dataclass(frozen=True, slots=True)
class StepNode:
    """One source, transform or sink as written. ``ordinal`` counts the steps of its kind from 0."""

    kind: str
    plugin: str
    ordinal: int
    options: Node

    @property
    def place(self) -> SourcePlace:
        """Place of the step in the file."""
        return self.options.place

    @property
    def path(self) -> str:
        """Name of the step in problems: ``source[0].Jdbc``."""
        return f"{self.kind}[{self.ordinal}].{self.plugin}"

    def problem(self, message: str, *, option: str = "", remedy: str = "", suggestion: str = "") -> Problem:
        """Make a problem of this step, at the place of ``option`` if that is written."""
        node = self.options.find(option) if option else None
        path = f"{self.path}.{option}" if option else self.path
        return (node or self.options).place.problem(message, path=path, remedy=remedy, suggestion=suggestion)


def read_steps(
    kind: str, root: ObjectExpression, evaluation: Evaluation, problems: list[Problem]
) -> tuple[StepNode, ...]:
    """Collect all steps of a kind in the order written; add anything else to ``problems``."""
    return _Steps(kind, evaluation, problems).of(root)


class _Steps:
    """Collects the steps of one kind."""

    def __init__(self, kind: str, evaluation: Evaluation, problems: list[Problem]) -> None:
        self._kind = kind
        self._evaluation = evaluation
        self._problems = problems
        self._found: list[tuple[str, SourcePlace, list[Expression] | Node]] = []

    def of(self, root: ObjectExpression) -> tuple[StepNode, ...]:
        """All steps of this kind in the file."""
        for entry in self._evaluation.fields(root):
            if entry.path[0] != self._kind:
                continue
            if len(entry.path) > 1:
                self._child(Field(entry.path[1:], entry.value, entry.append, entry.place))
            elif isinstance(entry.value, ObjectExpression) and not entry.append:
                for child in self._evaluation.fields(entry.value, (self._kind,)):
                    self._child(child)
            else:
                self._found = self._found if entry.append else []
                self._list(entry.value, entry.place)
        steps: list[StepNode] = []
        for name, place, content in self._found:
            node = content if isinstance(content, Node) else self._evaluation.node(content, place, (self._kind, name))
            if node is None or not isinstance(node.value, dict):
                self._problem(place, "the options of a plugin must be an object", name)
            else:
                steps.append(StepNode(self._kind, name, len(steps), self._unnamed(name, node.at(place))))
        return tuple(steps)

    def _child(self, entry: Field) -> None:
        """Read a plugin's block; ``Jdbc.url = ...`` beside it adds to the plugin written last."""
        name, rest = entry.path[0], entry.path[1:]
        if not rest:
            self._found.append((name, entry.place, [entry.value]))
            return
        value = ObjectExpression((Field(rest, entry.value, entry.append, entry.place),), entry.place)
        if self._found and self._found[-1][0] == name and isinstance(self._found[-1][2], list):
            self._found[-1][2].append(value)
        else:
            self._found.append((name, entry.place, [value]))

    def _list(self, value: Expression, place: SourcePlace) -> None:
        """Read the list form, or a reference to either form."""
        if isinstance(value, Literal) and value.value() is None:
            return
        if isinstance(value, Listed):
            nodes = [node for item in value.items if (node := self._evaluation.node([item], item.place))]
        else:
            whole = self._evaluation.node([value], place)
            if whole and isinstance(whole.value, dict) and NAME_KEY not in whole.value:
                self._found += [(name, node.place, node) for name, node in whole.fields.items()]
                return
            nodes = (whole.items or [whole]) if whole else []
        for node in nodes:
            name = node.fields.get(NAME_KEY)
            if name is None or not isinstance(name.value, str) or not name.value:
                self._problem(node.place, f"an element of the list needs {NAME_KEY}", "")
            else:
                self._found.append((name.value, node.place, node))

    def _unnamed(self, name: str, node: Node) -> Node:
        """Return the options without ``plugin_name``, which may only repeat the name of the step."""
        written = node.fields.get(NAME_KEY)
        if written is None:
            return node
        if str(written.value).casefold() != name.casefold():
            self._problem(written.place, f"{NAME_KEY} differs from the name of the block", name)
        return Node({key: child for key, child in node.fields.items() if key != NAME_KEY}, node.place)

    def _problem(self, place: SourcePlace, message: str, name: str) -> None:
        self._problems.append(place.problem(message, path=f"{self._kind}.{name}" if name else self._kind))
