"""The decision that all targets share: what becomes of the table, and by which recipe rows get into it."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from seatunnel_connectors.jdbc.dialect import SinkRequest
from seatunnel_connectors.jdbc.options import ROWS_PER_UNIT, Recipe
from seatunnel_connectors.jdbc.target.sink_key import key_of
from seatunnel_connectors.jdbc.target.target_plan import (
    TargetPlan,
    decide,
    estimated_rows,
    present_of,
    target_name,
)
from seatunnel_py.api import FatalError, JobMode, Plain, Present, Visible

TABLE = "table"
STAGED = "staged"
SHADOW = "shadow"
PREPARED = "prepared"
"""How units write: to the target, to a staging table, to a table that takes the target's place at the end, to the
target in prepared transactions."""
PARTIAL = 4
"""The kind of a row with absent cells in a staging table, beside those of ``RowKind``."""
ABSENT = "1"
"""The mark of an absent cell in a mask, a text with one character per column."""


class TargetState(Protocol):
    """A target as it is found."""

    @property
    def exists(self) -> bool: ...
    @property
    def has_rows(self) -> bool: ...
    @property
    def counted(self) -> int: ...
    @property
    def estimate(self) -> int: ...
    @property
    def has_books(self) -> bool: ...
    @property
    def may_create(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class LoadDecision:
    """``key``: upstream names; ``names``: the target's names by upstream ones. ``books``: a ledger exists or can
    be created. ``fresh``: the target is empty before the first unit. ``at_end``: staged rows wait for the last
    checkpoint. ``token``: identifies this set-up."""

    chosen: TargetPlan
    key: tuple[str, ...]
    names: dict[str, str]
    books: bool
    fresh: bool
    at_end: bool
    token: str


def decide_load(request: SinkRequest, target: TargetState, place: Hashable, shown: str) -> LoadDecision:
    """Decide the start effects. ``place``: key of the target, equal for its sinks; ``shown``: its name for messages.
    Raises FatalError if the save modes refuse the target."""
    options, table = request.options, request.table
    if request.continues and not target.exists:
        raise FatalError(
            f"the sink table {shown} is gone, into which table {table.path} was copied",
            "restore it; or start the job again with --fresh, which copies the table again",
        )
    first = not request.continues and not request.targets.prepared_by_sibling(place, str(table.path))
    chosen = decide(options, shown, exists=target.exists, has_rows=target.has_rows, first=first)
    key = key_of(options, table)
    if chosen.create and not options.create_index and options.enable_upsert:
        key = ()  # inserting or updating wants a unique index; changes and removals alone find their rows without
    return LoadDecision(
        chosen,
        key,
        {column: target_name(column, options.field_ide) for column in table.names},
        books=target.has_books or target.may_create,
        fresh=chosen.create or chosen.truncate or not target.has_rows,
        at_end=request.mode is JobMode.BATCH,
        token=secrets.token_hex(4),
    )


def refuse_misfit(request: SinkRequest, shown: str, problems: Sequence[str]) -> None:
    """FatalError that names every problem of this table at once."""
    if problems:
        raise FatalError(
            f"the sink table {shown} does not fit table {request.table.path}:\n  " + "\n  ".join(problems),
            "change the target, or the rows in a transform; schema_save_mode = RECREATE_SCHEMA recreates it",
        )


@dataclass(frozen=True, slots=True)
class Recipes:
    """Capabilities of a database. ``shadow_pays``: a shadow loads many rows faster, even without exactly-once."""

    staged: bool = False
    prepared: bool = False
    shadow_pays: bool = False


def recipe_of(request: SinkRequest, shown: str, can: Recipes, why_no_shadow: Callable[[], str], *, books: bool) -> str:
    """Choose the recipe. For exactly-once without a chosen recipe, rows are staged if the database supports it, or
    written to a shadow. A table of one unit is written in one transaction anyway.

    ``why_no_shadow``: why a shadow is impossible; empty: it is possible."""
    options = request.options
    if options.is_exactly_once and not books:
        raise FatalError(
            f"the sink table {shown}: is_exactly_once needs a ledger beside it, and the user may not create tables "
            "there",
            "grant the user CREATE there, or set is_exactly_once = false",
        )
    wanted, other = options.exactly_once_recipe, (Recipe.STAGED if can.staged else Recipe.DIRECT).value
    if (wanted is Recipe.PREPARED and not can.prepared) or (wanted is Recipe.STAGED and not can.staged):
        raise FatalError(
            f"the sink table {shown}: this database has no recipe {wanted.value}", f"set exactly_once_recipe = {other}"
        )
    if wanted is Recipe.SHADOW and (why := why_no_shadow()):
        raise FatalError(
            f"the sink table {shown}: exactly_once_recipe = shadow, but {why}", f"set exactly_once_recipe = {other}"
        )
    return _chosen_recipe(request, can, why_no_shadow) if wanted is Recipe.AUTO else _RECIPES[wanted]


_RECIPES = {Recipe.STAGED: STAGED, Recipe.DIRECT: TABLE, Recipe.PREPARED: PREPARED, Recipe.SHADOW: SHADOW}


def _chosen_recipe(request: SinkRequest, can: Recipes, why_no_shadow: Callable[[], str]) -> str:
    """A shadow pays where several units would otherwise keep an index up to date row by row. A source that knows how
    many rows it holds is read by splits, and they come alike when they are read again."""
    once = request.options.is_exactly_once and can.staged
    if is_large(request) and (once or can.shadow_pays) and not why_no_shadow():
        return SHADOW
    rows = estimated_rows(request.table)
    one_unit = request.mode is JobMode.BATCH and rows is not None and rows <= ROWS_PER_UNIT
    return STAGED if once and not one_unit else TABLE


def is_large(request: SinkRequest) -> bool:
    """Whether the source knows that its rows are more than a unit's."""
    rows = estimated_rows(request.table)
    return rows is not None and rows > ROWS_PER_UNIT


def visible_by(how: str, *, at_end: bool) -> Visible:
    """When rows of this recipe become visible to readers of the target."""
    if how == TABLE:
        return Visible.STAGED
    return Visible.FINAL if at_end else Visible.COMMITTED


def direct_setup(setup: Mapping[str, Plain]) -> Mapping[str, Plain] | None:
    """The set-up of a writer that changes the target by key at once, for one that may stage rows. None: rows are not
    known by their key alone, or do not go into a table that is there."""
    if not (setup.get("key") and setup.get("upsert")) or setup.get("versioned_by"):
        return None
    if setup.get("how") not in (TABLE, STAGED):
        return None
    found: dict[str, Plain] = {**setup, "how": TABLE, "recorded": False}
    return {**found, "into": setup["table"], "make": ()} if "into" in setup else found


def present_in(request: SinkRequest, decision: LoadDecision, target: TargetState, *, guarded: bool) -> Present:
    """Existing rows of the target and their treatment; ``guarded``: it refuses rows that it already has."""
    by_key = bool(decision.key) and request.options.enable_upsert
    return present_of(
        request.options,
        decision.chosen,
        exists=target.exists,
        counted=target.counted,
        estimate=target.estimate,
        by_key=by_key,
        guarded=guarded,
    )
