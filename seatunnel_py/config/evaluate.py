"""Evaluates the expressions of a job file: merging, references, concatenation, includes, variables.

The rules are HOCON's. Repeated objects merge; a later value of another kind replaces. A reference sees the final value
of its path, no matter where that is written; inside that path's own value it sees the earlier value (``path =
${path}":/more"``). Two things differ from the specification. An undefined name stays as written (``variables``). And as
options have dotted names, ``mode = x`` and ``mode.at = 1`` are two options, in either order: neither replaces the
other.

Work is bounded: each path is evaluated once, and a value that grows too large is refused while it is being built.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from seatunnel_py.config import hocon
from seatunnel_py.config.hocon import Expression, Field, Include, Joined, Listed, Literal, ObjectExpression, Reference
from seatunnel_py.config.tree import CHARACTERS_PER_VALUE, Node, SourcePlace
from seatunnel_py.config.variables import SECRET_SCHEMES, Variables

RECURSION_MAX = 64
"""Limit of open levels of nesting and references; each costs a handful of stack frames."""

WORK_MAX = 400_000
"""Limit of values and pieces of text; about a second of work, which only hostile files need."""

Loader = Callable[[Include, tuple[str, ...]], ObjectExpression]
"""Reads an include for the given path."""


@dataclass(eq=False, slots=True)
class PathValue:
    """All definitions of one path, in order."""

    place: SourcePlace
    definitions: list[Scope | Expression] = field(default_factory=list)
    value: Node | None = None
    done: bool = False
    active: int = -1
    """Index of the definition that is being evaluated, or -1."""
    so_far: Node | None = None
    """Result of the earlier definitions: the value that a reference to the path itself sees."""

    def looks_back(self) -> bool:
        """Whether a reference to this path now comes from inside its own value."""
        return self.active >= 0 and not isinstance(self.definitions[self.active], Scope)


@dataclass(eq=False, slots=True)
class Scope:
    """One object under construction: the fields of one block, or of blocks merged with no reference between.
    ``dotted``: it exists only through dots in names."""

    place: SourcePlace
    slots: dict[str, PathValue] = field(default_factory=dict)
    dotted: bool = False


class Evaluation:
    """Evaluates one job file. Nodes come from ``node`` (any expression) and ``at`` (a path)."""

    def __init__(self, variables: Variables, load: Loader, place: SourcePlace) -> None:
        self._variables = variables
        self._load = load
        self._root = Scope(place)
        self._own: PathValue | None = None
        self._own_path: tuple[str, ...] = ()
        self._depth = 0
        self._work = 0
        self._circular = False  # whether the last look-up returned to the path under evaluation
        self._filling = False  # inside a variable's value, in which nothing is substituted again

    # ------------------------------------------------------------ building

    def add(self, block: ObjectExpression) -> None:
        """Add the fields of the outermost block of a file."""
        self._add_fields(self._root, block, ())

    def fields(self, block: ObjectExpression, path: tuple[str, ...] = ()) -> Iterator[Field]:
        """Return the fields of a block in order, with includes replaced by their contents."""
        for entry in block.fields:
            if isinstance(entry, Include):
                yield from self.fields(self._load(entry, path), path)
            else:
                yield entry

    def _add_fields(self, scope: Scope, block: ObjectExpression, path: tuple[str, ...]) -> None:
        for entry in self.fields(block, path):
            self._add(scope, entry, path)

    def _add(self, scope: Scope, entry: Field, path: tuple[str, ...]) -> None:
        self._charge(len(entry.path), entry.place)
        names = list(entry.path)
        while len(names) > 1:
            if _is_plain(scope.slots.get(names[0])):
                names = [".".join(names)]
                break
            scope = self._inner(_slot(scope, names[0], entry.place), entry.place, dotted=True)
            path = (*path, names.pop(0))
        slot = _slot(scope, names[0], entry.place)
        path = (*path, names[0])
        slot.place = entry.place
        if isinstance(entry.value, Literal) or _joins_text(entry.value):
            _make_room(scope, names[0], slot)
        if entry.append:
            before = Reference(path, True, None, "", (), entry.place)
            slot.definitions.append(Joined((before, Listed((entry.value,), entry.place)), entry.place))
        elif isinstance(entry.value, ObjectExpression):
            self._add_fields(self._inner(slot, entry.place), entry.value, path)
        else:
            slot.definitions.append(entry.value)

    @staticmethod
    def _inner(slot: PathValue, place: SourcePlace, *, dotted: bool = False) -> Scope:
        if slot.definitions and isinstance(last := slot.definitions[-1], Scope):
            last.dotted = last.dotted and dotted
            return last
        scope = Scope(place, dotted=dotted)
        slot.definitions.append(scope)
        return scope

    # ------------------------------------------------------------ evaluating

    def at(self, *path: str) -> Node | None:
        """Return the value of a path, or None if the file does not define it."""
        slot = self._root.slots.get(path[0])
        return self._lookup(slot, path[1:]) if slot else None

    def names(self) -> dict[str, SourcePlace]:
        """The outermost names and their places."""
        return {name: slot.place for name, slot in self._root.slots.items()}

    def node(self, expressions: Iterable[Expression], place: SourcePlace, path: tuple[str, ...] = ()) -> Node | None:
        """Return the value of several definitions of one thing, which the file itself has at ``path``.

        A second ``Jdbc { ... }`` is an example: the file's own tree has merged it with the first.
        """
        slot = PathValue(place)
        self._own_path, self._own = path, slot
        for expression in expressions:
            if isinstance(expression, ObjectExpression):
                self._add_fields(self._inner(slot, place), expression, path)
            else:
                slot.definitions.append(expression)
        try:
            return self._value(slot)
        finally:
            self._own_path, self._own = (), None

    def _starts(self, path: tuple[str, ...]) -> Iterator[tuple[PathValue, tuple[str, ...]]]:
        """Slots at which the look-up of a path starts, each with the rest of the path."""
        own = len(self._own_path)
        if self._own and own and path[:own] == self._own_path:
            yield self._own, path[own:]
        if path[0] in self._root.slots:
            yield self._root.slots[path[0]], path[1:]

    def _value(self, slot: PathValue) -> Node | None:
        """Fold the definitions: objects merge, anything else replaces."""
        if slot.done:
            return slot.value
        if slot.active >= 0:
            self._circular = self._circular or slot.so_far is None
            return slot.so_far
        result: Node | None = None
        # Skip definitions before a plain value: it replaces them, so they need not even be valid.
        first = max((i for i, one in enumerate(slot.definitions) if isinstance(one, Literal)), default=0)
        try:
            for index in range(first, len(slot.definitions)):
                slot.active, slot.so_far = index, result
                definition = slot.definitions[index]
                found = self._evaluate(definition)
                if found is not None:
                    _refuse_loss(result, definition)
                    result = self._merged(result, found)
        finally:
            slot.active = -1
        slot.value = result.at(slot.place) if result else None
        slot.done = True
        return slot.value

    def _lookup(self, slot: PathValue, rest: tuple[str, ...]) -> Node | None:
        """Return the value at ``rest`` below a slot; if the slot is one written object, evaluate only that part."""
        simple = all(isinstance(definition, Scope) for definition in slot.definitions)
        if not rest or slot.done or (slot.active < 0 and not simple):
            return _navigated(self._value(slot), rest)
        if slot.looks_back():
            self._circular = self._circular or slot.so_far is None
            return _navigated(slot.so_far, rest)
        result: Node | None = None
        for index, definition in enumerate(slot.definitions):
            if isinstance(definition, Scope):
                inner = definition.slots.get(rest[0])
                found = self._lookup(inner, rest[1:]) if inner else None
            else:
                whole = self._beside(slot, index)
                result = result if whole is None or isinstance(whole.value, dict) else None
                found = _navigated(whole, rest)
            if found is not None:
                result = self._merged(result, found)
        return result

    def _beside(self, slot: PathValue, index: int) -> Node | None:
        """Evaluate one definition of a slot while another of its definitions, an object, is being evaluated."""
        before = slot.active, slot.so_far
        slot.active, slot.so_far = index, None
        try:
            return self._evaluate(slot.definitions[index])
        finally:
            slot.active, slot.so_far = before

    def _evaluate(self, expression: Scope | Expression) -> Node | None:
        self._charge(1, expression.place)
        if self._depth >= RECURSION_MAX:
            raise expression.place.error(f"nested deeper than {RECURSION_MAX} levels, references included")
        self._depth += 1
        try:
            if isinstance(expression, Scope):
                found = {name: self._value(slot) for name, slot in expression.slots.items()}
                return Node({name: node for name, node in found.items() if node is not None}, expression.place)
            if isinstance(expression, Literal):
                value = expression.value()
                if isinstance(value, str) and not self._filling:
                    value = self._variables.substitute(value)
                return Node(value, expression.place)
            if isinstance(expression, Reference):
                return self._referred(expression)
            if isinstance(expression, Listed):
                items = [self._evaluate(item) for item in expression.items]
                return Node([item for item in items if item is not None], expression.place)
            if isinstance(expression, Joined):
                return self._joined(expression)
            scope = Scope(expression.place)
            self._add_fields(scope, expression, ())
            return self._evaluate(scope)
        finally:
            self._depth -= 1

    def _referred(self, reference: Reference) -> Node | None:
        """Return a value of the file, else a variable's, else the reference as written."""
        name = ".".join(reference.path)
        self._circular = False
        if reference.default is None and not self._filling:
            for path in dict.fromkeys((reference.prefix + reference.path, reference.path)):
                for slot, rest in self._starts(path):
                    found = self._lookup(slot, rest)
                    if found is not None:
                        return found.at(reference.place)
        scheme = name if reference.default is not None else ""
        if not self._filling and scheme not in SECRET_SCHEMES:
            value = self._variables.lookup(name, reference.default)
            if value is not None:
                return self._filled(value, reference.place)
        if self._circular and not reference.optional:
            raise reference.place.error(f"{reference.text} refers to itself")
        return None if reference.optional else Node(reference.text, reference.place)

    def _filled(self, value: str, place: SourcePlace) -> Node | None:
        self._filling = True
        try:
            return self._evaluate(hocon.read_value(value, place))
        finally:
            self._filling = False

    def _joined(self, joined: Joined) -> Node | None:
        pieces = [(part, node) for part in joined.parts if (node := self._evaluate(part)) is not None]
        solid = [node for part, node in pieces if not (isinstance(part, Literal) and part.kind == "blank")]
        if len(solid) == 1 and len(pieces) == 1:
            return solid[0]
        if all(isinstance(node.value, dict) for node in solid) and solid:
            result = solid[0]
            for node in solid[1:]:
                result = self._merged(result, node)
            return result
        if all(isinstance(node.value, list) for node in solid) and solid:
            self._charge(sum(len(node.items) for node in solid), joined.place)
            return Node([item for node in solid for item in node.items], joined.place)
        if any(isinstance(node.value, dict | list) for node in solid):
            remedy = "Put a comma or a line break where the next option begins."
            raise solid[1].place.error("an object or a list cannot be joined with something else", remedy=remedy)
        texts = [_spelling(part, node) for part, node in pieces]
        self._charge(sum(map(len, texts)) // CHARACTERS_PER_VALUE, joined.place)
        return Node("".join(texts), joined.place) if texts else None

    def _merged(self, below: Node | None, above: Node) -> Node:
        """Merge objects key by key; anything else replaces the earlier value."""
        if below is None or not isinstance(below.value, dict) or not isinstance(above.value, dict):
            return above
        self._charge(len(below.value) + len(above.value), above.place)
        fields = dict(below.value)
        for name, node in above.value.items():
            fields[name] = self._merged(fields.get(name), node)
        return Node(fields, above.place)

    def _charge(self, work: int, place: SourcePlace) -> None:
        self._work += work
        if self._work > WORK_MAX:
            raise place.error("references make this file too large to evaluate")


def _slot(scope: Scope, name: str, place: SourcePlace) -> PathValue:
    if name not in scope.slots:
        scope.slots[name] = PathValue(place=place)
    return scope.slots[name]


def _is_plain(slot: PathValue | None) -> bool:
    """Whether the value so far is a value other than an object."""
    last = slot.definitions[-1] if slot and slot.definitions else None
    return (isinstance(last, Literal) and last.kind != "null") or _joins_text(last)


def _joins_text(value: Expression | Scope | None) -> bool:
    """Whether adjacent pieces can only be a text: one of them is."""
    return isinstance(value, Joined) and any(isinstance(part, Literal) and part.text.strip() for part in value.parts)


def _make_room(scope: Scope, name: str, slot: PathValue) -> None:
    """Make room for a plain value beside an object of dotted names: its fields stay, under their full names."""
    if slot.definitions and isinstance(last := slot.definitions[-1], Scope) and last.dotted:
        slot.definitions.pop()
        scope.slots.update({f"{name}.{inner}": one for inner, one in last.slots.items()})


def _refuse_loss(value: Node | None, definition: Scope | Expression) -> None:
    """Refuse a dotted name that would replace a plain value; only now the reference proves to be one."""
    if value is None or value.value is None or isinstance(value.value, dict | list):
        return
    if isinstance(definition, Scope) and definition.dotted:
        remedy = "Put the dotted name of the other one in quotes."
        raise definition.place.error("this name would replace an option that it begins with", remedy=remedy)


def _navigated(node: Node | None, rest: tuple[str, ...]) -> Node | None:
    for name in rest:
        node = node.fields.get(name) if node else None
    return node


def _spelling(part: Expression, node: Node) -> str:
    """Convert a piece of a concatenation to text: a literal as written, a value as printed."""
    if isinstance(part, Literal) and part.kind in ("number", "boolean", "null"):
        return part.text
    if isinstance(node.value, bool):
        return str(node.value).lower()
    return "null" if node.value is None else str(node.value)
