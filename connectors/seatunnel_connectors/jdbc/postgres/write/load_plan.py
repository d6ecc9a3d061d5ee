"""How rows get into a target: plain data for every writer and the committer."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import lru_cache
from hashlib import blake2b
from typing import Any, cast

from seatunnel_connectors.jdbc.postgres.connection.session import quote
from seatunnel_connectors.jdbc.target import conservation
from seatunnel_connectors.jdbc.target.load_decision import SHADOW, STAGED
from seatunnel_py.api import Plain, WriteContext

EXACT = frozenset({"int2", "int4", "int8", "date", "timestamp", "timestamptz", "bool"})
EXACT_TEXTS = frozenset({"text", "varchar"})
"""Types whose values are the same if they are equal, as pg_type calls them; texts have a collation besides."""
LOADS_MAX = 512  # more tables than are open at a time


@dataclass(frozen=True, slots=True)
class LoadColumn:
    """A column on its way: upstream name, target name, what pg_type calls its type, its element's type for an
    array, the type in full for a cast of text, and whether it takes no nulls. ``collation``: the quoted name of one
    under which different texts are equal."""

    source: str
    name: str
    native: str
    element: str
    full: str
    required: bool = False
    collation: str = ""

    @property
    def exact(self) -> bool:
        """Whether its values are the same if they are equal."""
        return self.native in EXACT | EXACT_TEXTS and not self.collation

    @property
    def compared(self) -> str:
        """The type of a column that compares as this one does."""
        return f"{self.full} COLLATE {self.collation}" if self.collation else self.full


@dataclass(frozen=True, slots=True)
class Load:
    """How rows get into the target; plain data in ``Setup.data``, for every writer and the committer.

    ``how`` is SHADOW (units fill a keyless table that the commit finishes and renames), STAGED (each unit fills its own
    table, which a commit adds to the target), PREPARED (units write to the target, in prepared transactions)
    or TABLE (units write to the target). ``into``: the table that units write to. ``books``: the ledger's tables exist;
    ``fresh``: the target is empty before the first unit; ``at_end``: staged rows wait for the last checkpoint;
    ``booked``: a ledger existed before. ``make``: statements that create the target, in the transaction of its first
    unit. ``versioned_by``: see ``version_column``. ``checks``: the target's constraints on columns of the load, by
    name. ``checked``: columns whose values are tested (``column_fit``). ``plain``: the target is not partitioned, so
    rows of inheriting tables are not its own. ``nulls_in_key``: its key allows nulls. ``triggered``: a trigger may
    drop rows, which only an INSERT reports. ``recorded``: a unit leaves a record; a repair leaves none.
    """

    how: str
    schema: str
    table: str
    into: str
    token: str
    key: tuple[str, ...]
    upsert: bool
    books: bool
    columns: tuple[LoadColumn, ...]
    before: tuple[str, ...] = ()
    finish: tuple[str, ...] = ()
    fresh: bool = False
    at_end: bool = False
    booked: bool = False
    make: tuple[str, ...] = ()
    versioned_by: str = ""
    checks: tuple[tuple[str, str], ...] = ()
    checked: tuple[tuple[str, str, int], ...] = ()
    plain: bool = False
    nulls_in_key: bool = False
    triggered: bool = False
    recorded: bool = True

    @property
    def shown(self) -> str:
        """Name of the target, for messages."""
        return f"{self.schema}.{self.table}"

    @property
    def unchanged(self) -> tuple[str, ...]:
        """Columns of the key that an update by the key leaves alone. Setting one would lock the row against foreign
        keys, and would let an index grow that no value changes."""
        return tuple(one.name for one in self.columns if one.name in self.key and one.exact)

    @property
    def whole(self) -> tuple[str, ...]:
        """Columns of the rows in which none may have a null: rows are inserted or updated by them."""
        return tuple(one.source for one in self.columns if self.upsert and one.name in self.key)

    @property
    def restart_remedy(self) -> str:
        """The way on from a loss."""
        visible = self.how != SHADOW and not (self.how == STAGED and self.at_end)
        return conservation.begin_anew(self.shown, f"TRUNCATE TABLE {quote(self.schema, self.table)}", visible=visible)

    def for_unit(self, context: WriteContext) -> Load:
        """Return this load with the table that the attempt fills: each attempt has its own."""
        if self.how != STAGED:
            return self
        who = (context.data_id, context.incarnation, context.epoch, context.attempt)
        return replace(self, into=f"{self.into}_{blake2b(repr(who).encode(), digest_size=6).hexdigest()}")

    def to_plain(self) -> dict[str, Plain]:
        columns = [_shallow(one) for one in self.columns]
        return cast("dict[str, Plain]", {**_shallow(self), "columns": columns, "version": 1})


def _shallow(one: Any) -> dict[str, Any]:
    """The fields; ``asdict`` would copy every value, which takes most of the time of planning a table."""
    return {field.name: getattr(one, field.name) for field in fields(one)}


class _SameData:
    """A key for plain data: the same object is the same load."""

    __slots__ = ("data",)

    def __init__(self, data: Any) -> None:
        self.data = data

    def __hash__(self) -> int:
        return id(self.data)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _SameData) and self.data is other.data


def load_of(data: Any) -> Load:
    """Read back what ``Load.to_plain`` wrote. The result is kept, for a driver asks for it nine times a table."""
    return _load(_SameData(data))


@lru_cache(maxsize=LOADS_MAX)
def _load(same: _SameData) -> Load:
    data = same.data
    fields = {key: value for key, value in dict(data).items() if key != "version"}
    fields["columns"] = tuple(LoadColumn(**column) for column in fields["columns"])
    for name in ("key", "before", "finish", "make"):
        fields[name] = tuple(fields.get(name, ()))  # an older version made every table beforehand
    fields["checks"] = tuple((name, expression) for name, expression in fields.get("checks", ()))
    fields["checked"] = tuple((name, dtype, digits) for name, dtype, digits in fields.get("checked", ()))
    return Load(**fields)
