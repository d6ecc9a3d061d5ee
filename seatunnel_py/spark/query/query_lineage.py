"""The column lineage of a query, from its analysed plan.

Rules. (1) Attributes are followed by their ids, from the views up. (2) A condition, an order, a group and the key of a
join decide about rows; those of any part of the query count for all of it. (3) Of a subquery inside an expression, all
columns that it selects and all that decide about its rows belong to that expression. (4) A node of another kind, or an
attribute that is not found, makes the whole lineage unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from seatunnel_py.api.transform import ColumnUse, LineageKind
from seatunnel_py.plan.tables.column_lineage import composed
from seatunnel_py.spark.query.plan_tree import PlanNode, kind_of, outputs_of_view, tree_of

Uses = frozenset[ColumnUse]
_TRANSPARENT = frozenset(
    {"GlobalLimit", "LocalLimit", "Offset", "Tail", "SubqueryAlias", "CTERelationDef", "Repartition", "ResolvedHint"}
)
_CONDITIONS = {
    "Filter": ("condition", LineageKind.FILTER),
    "Sort": ("order", LineageKind.SORT),
    "Join": ("condition", LineageKind.JOIN),
    "RepartitionByExpression": ("partitionExpressions", LineageKind.SORT),
}
_MASKING = frozenset(
    {"Md5", "Sha1", "Sha2", "Crc32", "XxHash64", "Murmur3Hash", "HiveHash", "AesEncrypt", "TryAesEncrypt", "Mask"}
)
_PLANS = ("plan",)
"""Fields of expressions that hold a plan."""


class _UnknownError(Exception):
    """The lineage is unknown (rule 4)."""


@dataclass(frozen=True, slots=True)
class QueryLineage:
    """``columns``: by the position of an output column, the inputs' columns that it is made of; ``rows``: those that
    decide which rows come out. ``ColumnUse.input`` is the name of a view."""

    columns: tuple[Uses, ...]
    rows: Uses


def query_lineage(root: PlanNode) -> QueryLineage | None:
    """The lineage of an analysed plan; None: it is unknown."""
    walk = _Walk()
    try:
        outputs = walk.outputs(root)
        return QueryLineage(tuple(walk.uses[one] for one in outputs), frozenset(walk.rows))
    except _UnknownError:
        return None


@dataclass(slots=True)
class _Walk:
    """``uses``: by the id of an attribute; ``definitions``: outputs of common table expressions, by their id."""

    uses: dict[int, Uses] = field(default_factory=dict)
    rows: set[ColumnUse] = field(default_factory=set)
    definitions: dict[int, list[int]] = field(default_factory=dict)

    def outputs(self, node: PlanNode) -> list[int]:
        """The ids of a node's output columns, in their order; what they use is known afterwards."""
        kind = node.kind
        if kind == "SubqueryAlias" and node.children[0].kind == "View":
            return self._view(str(node.fields["identifier"]["name"]), node.children[0])
        if kind == "CTERelationRef":
            return self._renamed(self._definition(node), node.fields["output"])
        if kind == "OneRowRelation":
            return []
        if kind == "WithCTE":
            return self._with_definitions(node)
        below = [self.outputs(child) for child in node.children]
        if kind in _CONDITIONS:
            name, how = _CONDITIONS[kind]
            self._decides(node.fields.get(name) or (), how)
            return [one for ids in below for one in ids] if not _is_half(node) else below[0]
        if kind in _TRANSPARENT:
            return below[0]
        return self._made(kind, node, below)

    def _made(self, kind: str, node: PlanNode, below: Sequence[list[int]]) -> list[int]:
        fields = node.fields
        match kind:
            case "Project":
                return self._named(fields["projectList"])
            case "Aggregate":
                self._decides(fields["groupingExpressions"], LineageKind.GROUP_BY)
                return self._named(fields["aggregateExpressions"])
            case "Window":
                return [*below[0], *self._named(fields["windowExpressions"])]
            case "Generate":
                used = self._expression(fields["generator"])
                self.rows |= _as(used, LineageKind.CONDITIONAL)
                made = [self._put(one[0], used) for one in fields["generatorOutput"]]
                return [*below[0], *made]
            case "Expand":
                return self._expanded(fields["projections"], fields["output"])
            case "Distinct" | "Deduplicate":
                self.rows |= _as(self._of(below[0]), LineageKind.GROUP_BY)
                return below[0]
            case "Union":
                return self._united(below)
            case "Except" | "Intersect":
                self.rows |= _as(self._of([one for ids in below for one in ids]), LineageKind.JOIN)
                return below[0] if kind == "Except" else self._united(below)
        raise _UnknownError(kind)

    def _view(self, name: str, view: PlanNode) -> list[int]:
        return [self._put(one, frozenset({ColumnUse(str(one["name"]), input=name)})) for one in outputs_of_view(view)]

    def _with_definitions(self, node: PlanNode) -> list[int]:
        *definitions, plan = node.children
        for one in definitions:
            self.definitions[int(one.fields["id"])] = self.outputs(one)
        return self.outputs(plan)

    def _definition(self, node: PlanNode) -> list[int]:
        found = self.definitions.get(int(node.fields["cteId"]))
        if found is None:
            raise _UnknownError("recursive")
        return found

    def _renamed(self, ids: Sequence[int], attributes: Sequence[Any]) -> list[int]:
        return [self._put(new[0], self.uses[old]) for old, new in zip(ids, attributes, strict=True)]

    def _united(self, below: Sequence[list[int]]) -> list[int]:
        first, *others = below
        for ids in others:
            for mine, other in zip(first, ids, strict=True):
                self.uses[mine] |= self.uses[other]
        return first

    def _expanded(self, projections: Sequence[Sequence[Any]], output: Sequence[Any]) -> list[int]:
        found: list[Uses] = [frozenset()] * len(output)
        for projection in projections:
            found = [had | self._expression(one) for had, one in zip(found, projection, strict=True)]
        return [self._put(one[0], used) for one, used in zip(output, found, strict=True)]

    def _named(self, expressions: Sequence[Sequence[Mapping[str, Any]]]) -> list[int]:
        """The ids of expressions that are attributes, or have names."""
        found = []
        for expression in expressions:
            top = expression[0]
            if kind_of(top) not in ("Alias", "AttributeReference"):
                raise _UnknownError(kind_of(top))
            found.append(self._put(top, self._expression(expression)))
        return found

    def _put(self, attribute: Mapping[str, Any], used: Uses) -> int:
        number = int(attribute["exprId"]["id"])
        self.uses[number] = used
        return number

    def _of(self, ids: Iterable[int]) -> Uses:
        return frozenset(one for number in ids for one in self.uses[number])

    def _decides(self, expressions: Any, how: LineageKind) -> None:
        self.rows |= _as(self._expression(expressions), how)

    def _expression(self, expression: Any) -> Uses:
        """Everything that an expression uses."""
        parts = list(_parts(expression))
        kinds = [kind_of(one) for one in parts]
        bare = all(kind in ("Alias", "AttributeReference") for kind in kinds)
        how = LineageKind.IDENTITY if bare else LineageKind.TRANSFORMATION
        if "AggregateExpression" in kinds:
            how = LineageKind.AGGREGATION
        if "WindowExpression" in kinds:
            how = LineageKind.WINDOW
        masking = not _MASKING.isdisjoint(kinds)
        used = set[ColumnUse]()
        for one, kind in zip(parts, kinds, strict=True):
            if kind == "AttributeReference":
                used |= self._attribute(one)
            used |= {use for name in _PLANS if isinstance(one.get(name), list) for use in self._subquery(one[name])}
        return frozenset(replace(use, kind=composed(use.kind, how), masking=use.masking or masking) for use in used)

    def _attribute(self, attribute: Mapping[str, Any]) -> Uses:
        found = self.uses.get(int(attribute["exprId"]["id"]))
        if found is None:
            raise _UnknownError(str(attribute["name"]))
        return found

    def _subquery(self, plan: list[dict[str, Any]]) -> Uses:
        inner = _Walk(dict(self.uses), set(), dict(self.definitions))
        outputs = inner.outputs(tree_of(plan))
        return inner._of(outputs) | frozenset(inner.rows)


def _is_half(join: PlanNode) -> bool:
    """Whether a join gives the columns of its left side only."""
    return str(join.fields.get("joinType", {}).get("object", "")).endswith(("LeftSemi$", "LeftAnti$"))


def _as(used: Iterable[ColumnUse], how: LineageKind) -> Uses:
    return frozenset(ColumnUse(one.column, how, input=one.input) for one in used)


def _parts(value: Any) -> Iterator[Mapping[str, Any]]:
    """All expressions in a value, without those of plans inside it."""
    if isinstance(value, list | tuple):
        for item in value:
            yield from _parts(item)
    elif isinstance(value, dict):
        if "class" in value and "num-children" in value:
            yield value
        for name, item in value.items():
            if name not in _PLANS:
                yield from _parts(item)
