"""Builds SQL that merges staged rows into a keyed table: the last row of each key wins, deletes delete.

Rows are staged in a temporary table with two more columns: their order, and their kind. Rows with absent cells have
another two: their round, and a mask of these cells (``partial_rows``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from seatunnel_connectors.jdbc.postgres.connection.session import TABLE_CHANGED, literal, quote
from seatunnel_connectors.jdbc.postgres.write.ddl import listed
from seatunnel_connectors.jdbc.postgres.write.load_plan import Load, LoadColumn
from seatunnel_connectors.jdbc.target import version_column
from seatunnel_connectors.jdbc.target.load_decision import ABSENT as ABSENT_MARK
from seatunnel_connectors.jdbc.target.load_decision import PARTIAL, PREPARED, STAGED
from seatunnel_py.api import RowKind

LOCK_SECONDS = 10  # for a key that a prepared transaction has written: it becomes free only with its checkpoint

ORDER = "__st_order"
KIND = "__st_kind"
ROUND = "__st_round"
MASK = "__st_absent"


@dataclass(frozen=True, slots=True)
class Staging:
    """Statements for one load's staging table. ``as_text``: for each column, True if it is staged as text;
    ``rows``: a query that returns order and kinds as columns, for rows that are staged elsewhere. ``one_per_key``: no
    two rows have the same key, and no inserted row is an update. ``only_updates``: all are updates, and were staged
    without order and kind."""

    load: Load
    as_text: tuple[bool, ...]
    rows: str = ""
    one_per_key: bool = False
    only_updates: bool = False

    @property
    def name(self) -> str:
        return f"st_{self.load.token}"

    @property
    def relation(self) -> str:
        """The temporary table, for a statement."""
        return f"pg_temp.{quote(self.name)}"

    def create(self, *, counted: bool = False) -> str:
        """Create it for one transaction, because a worker's connection serves many tables. ``counted``: the rows come
        as inserts, and the server numbers them."""
        columns = [
            f"{quote(column.name)} {'text' if as_text else column.compared}"
            for column, as_text in zip(self.load.columns, self.as_text, strict=True)
        ]
        columns += [f"{ORDER} bigserial", f"{KIND} smallint DEFAULT 0"] if counted else []
        columns += [] if counted else [f"{ORDER} bigint", f"{KIND} smallint"]
        return f"CREATE TEMPORARY TABLE {quote(self.name)} ({', '.join(columns)}) ON COMMIT DROP"

    def empty(self) -> str:
        return f"TRUNCATE {self._staged}"

    def append(self) -> str:
        """Insert every row as a new row, in order."""
        return self._append("", "")

    def keep(self, before: int, *, kinds: bool) -> str:
        """Insert every row into the unit's own table, numbered; ``before``: rows of the unit before these."""
        more = f", {KIND}" if kinds else ""
        return self._append(f", {ORDER}{more}", f", {ORDER} + {before + 1}{more}")

    def append_partial(self, first: int) -> str:
        """Append rows with absent cells; ``first`` is their first round in the unit."""
        return self._append(f", {KIND}, {ROUND}, {MASK}", f", {KIND}, {ROUND} + {first}, {MASK}")

    def _append(self, names: str, values: str) -> str:
        return f"""
            INSERT INTO {self._into} ({self._names}{names})
            SELECT {self._values("s")}{values} FROM {self._staged} s ORDER BY {ORDER}
        """

    def keep_masks(self) -> str:
        """Change the temporary table for rows with absent cells."""
        columns = f"ADD COLUMN IF NOT EXISTS {ROUND} integer, ADD COLUMN IF NOT EXISTS {MASK} text"
        return f"ALTER TABLE {self.relation} {columns}"

    def of_round(self, number: int) -> Staging:
        """Statements for one round of rows with absent cells, which are written to the target."""
        return replace(self, rows=f"SELECT * FROM {self.relation} WHERE {ROUND} = {number}")

    def delete(self) -> str:
        """Delete the keys whose last kind is a delete."""
        return f"""
            DELETE FROM {self._own_rows} t USING ({self._last()}) s
            WHERE s.{KIND} = {RowKind.DELETE.value} AND {self._same_key()}
        """

    def delete_listed(self) -> str:
        """Delete the keys of a parameter, a list; the key has one column."""
        return f"DELETE FROM {self._own_rows} t WHERE t.{quote(self.load.key[0])} = ANY($1)"

    def change(self) -> str:
        """Update the present columns of the keys of rows with absent cells. An absent value keeps its place in the
        table, however long it is."""
        updates = ", ".join(
            f"{quote(column.name)} = CASE substr(s.{MASK}, {at}, 1) WHEN '{ABSENT_MARK}' THEN t.{quote(column.name)} "
            f"ELSE {value} END"
            for at, (column, value) in enumerate(zip(self.load.columns, self._value_list("s"), strict=True), 1)
            if column.name not in self.load.key
        )
        return f"""
            UPDATE {self._own_rows} t SET {updates} FROM ({self._last()}) s
            WHERE s.{KIND} = {PARTIAL} AND {self._same_key()}{self._not_newer()}
        """

    def upsert(self, last_kind: RowKind = RowKind.UPDATE_AFTER) -> str:
        """Insert or update the keys that are not deleted; of those up to ``last_kind``."""
        return self._upsert(f"s.{KIND} <= {last_kind.value}")

    def insert_missing(self) -> str:
        """Insert the updated keys that the target does not have."""
        there = f"SELECT FROM {self._own_rows} t WHERE {self._same_key()}"
        return self._upsert(f"{self._is_update} AND NOT EXISTS ({there})")

    def _upsert(self, condition: str) -> str:
        return f"""
            INSERT INTO {self._into} AS t ({self._names})
            SELECT {self._values("s")} FROM ({self._last()}) s WHERE {condition}
            ORDER BY {ORDER}{on_conflict(self.load)}
        """

    def keys(self) -> str:
        """Each key once."""
        key = listed(self.load.key)
        return f"SELECT DISTINCT {key} FROM {self._staged} s"

    def counts(self) -> str:
        """Number of keys, and of deleted ones."""
        deletes = f"count(*) FILTER (WHERE s.{KIND} = {RowKind.DELETE.value})"
        return f"SELECT count(*) AS keys, {deletes} AS deletes FROM ({self._last()}) s"

    def update(self) -> str:
        """Update keys that were only updated."""
        updates = ", ".join(self._assignments(self.load.unchanged) or self._assignments(()))
        return f"""
            UPDATE {self._own_rows} t SET {updates} FROM ({self._last()}) s
            WHERE {self._is_update} AND NOT s.fresh AND {self._same_key()}
        """

    def insert(self) -> str:
        """Without upsert: insert keys that were inserted, with later updates applied."""
        return f"""
            INSERT INTO {self._into} ({self._names})
            SELECT {self._values("s")} FROM ({self._last()}) s
            WHERE s.{KIND} < {RowKind.DELETE.value} AND s.fresh ORDER BY {ORDER}
        """

    def _assignments(self, fixed: Sequence[str]) -> list[str]:
        """The columns with their new values, except ``fixed`` ones."""
        columns = zip(self.load.columns, self._value_list("s"), strict=True)
        return [f"{quote(column.name)} = {value}" for column, value in columns if column.name not in fixed]

    @property
    def _is_update(self) -> str:
        return f"s.{KIND} IS NULL" if self.only_updates else f"s.{KIND} = {RowKind.UPDATE_AFTER.value}"

    def _not_newer(self) -> str:
        """Condition that the target's row has no higher version."""
        if not (version := self.load.versioned_by):
            return ""
        there = f"t.{quote(version)}"
        return f" AND ({there} IS NULL OR {there} <= {self._value_of(version)})"

    def _value_of(self, name: str, alias: str = "s") -> str:
        return dict(zip((column.name for column in self.load.columns), self._value_list(alias), strict=True))[name]

    def _last(self) -> str:
        """One row for each key, its last or its newest; ``fresh``: the key was inserted among these rows."""
        if self.one_per_key:
            return f"SELECT *, false AS fresh FROM {self._staged} staged"
        key, newest = listed(self.load.key), ""
        if version := self.load.versioned_by:
            newest = f"{self._value_of(version, 'staged')} DESC NULLS LAST, "
        return f"""
            SELECT DISTINCT ON ({key}) *, bool_or({KIND} = {RowKind.INSERT.value}) OVER (PARTITION BY {key}) AS fresh
            FROM {self._staged} staged ORDER BY {key}, {newest}{ORDER} DESC
        """

    def _same_key(self) -> str:
        return " AND ".join(f"t.{quote(name)} = {self._value_of(name)}" for name in self.load.key)

    @property
    def _staged(self) -> str:
        return f"({self.rows})" if self.rows else self.relation

    @property
    def _into(self) -> str:
        return quote(self.load.schema, self.load.table if self.rows else self.load.into)

    @property
    def _own_rows(self) -> str:
        """Restrict changes and deletes to own rows: those of inheriting tables do not belong to the target."""
        return f"ONLY {self._into}" if self.load.plain else self._into

    @property
    def _names(self) -> str:
        return listed(column.name for column in self.load.columns)

    def _value_list(self, alias: str) -> Sequence[str]:
        return [
            f"{alias}.{quote(column.name)}" + (f"::{_cast_to(column)}" if as_text else "")
            for column, as_text in zip(self.load.columns, self.as_text, strict=True)
        ]

    def _values(self, alias: str) -> str:
        return ", ".join(self._value_list(alias))


def _cast_to(column: LoadColumn) -> str:
    """The type without its modifier: a cast to one with a modifier truncates long values, and an assignment refuses
    them."""
    return quote(column.native) if "(" in column.full else column.full


def on_conflict(load: Load) -> str:
    """The end of an INSERT of rows by key."""
    names = [quote(column.name) for column in load.columns]
    version = load.versioned_by and quote(load.versioned_by)
    unchanged = [quote(name) for name in load.unchanged]
    return version_column.on_conflict(names, [quote(name) for name in load.key], version, unchanged)


def begin_unit(load: Load) -> list[str]:
    """Statements that begin a unit's transaction."""
    if load.how == PREPARED:
        return ["BEGIN", f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'", still_as_planned(load)]
    if load.how == STAGED:
        return ["BEGIN", _create_unit_table(load)]
    return ["BEGIN", *(load.make or [still_as_planned(load)])]


def still_as_planned(load: Load) -> str:
    """Statement that fails if the table's column types have changed: rows are sent as bytes, which may be valid values
    of another type. The query locks the table against such changes."""
    names = listed(column.name for column in load.columns)
    nulls = ", ".join(["NULL"] * len(load.columns))
    insert = f"EXPLAIN INSERT INTO {quote(load.schema, load.into)} ({names}) SELECT {nulls}"
    wanted = ", ".join(f"({literal(column.name)}, {literal(column.full)})" for column in load.columns)
    body = f"""
        DECLARE found text;
        BEGIN
            EXECUTE {literal(insert)};
            SELECT string_agg(format('column %I is %s by now and was %s', w.name, a.atttypid::regtype, w.type), ', ')
            INTO found FROM (VALUES {wanted}) AS w (name, type) JOIN pg_attribute a
            ON a.attrelid = {literal(quote(load.schema, load.into))}::regclass AND a.attname = w.name
            WHERE a.atttypid <> to_regtype(w.type);
            IF found IS NOT NULL THEN RAISE EXCEPTION USING ERRCODE = '{TABLE_CHANGED}', MESSAGE = found; END IF;
        END
    """
    return f"DO {literal(body)}"


def _create_unit_table(load: Load) -> str:
    """Create the table that one unit fills, and that its commit drops. The table has the target's checks: bad rows fail
    here, where they can be quarantined, and not in the common commit."""
    lines = [f"{quote(one.name)} {one.compared}{' NOT NULL' if one.required else ''}" for one in load.columns]
    lines += [f"CONSTRAINT {quote(name)} CHECK ({expression})" for name, expression in load.checks]
    return f"CREATE TABLE {quote(load.schema, load.into)} ({', '.join(lines)}) WITH (autovacuum_enabled = off)"


def keep_order(load: Load) -> str:
    """Change the unit's own table for rows that are inserted by a statement: PostgreSQL puts such a row where there is
    room, so their physical order is not that in which they came. Rows that COPY has appended before are the first."""
    return f"ALTER TABLE {quote(load.schema, load.into)} ADD COLUMN IF NOT EXISTS {ORDER} bigint NOT NULL DEFAULT 0"


def keep_kinds(load: Load) -> str:
    """Change the table for rows other than inserts; its existing rows are inserts. Only the key of a deleted row is
    checked."""
    changes = [f"ADD COLUMN IF NOT EXISTS {KIND} smallint NOT NULL DEFAULT 0"]
    changes += [f"ALTER COLUMN {quote(one.name)} DROP NOT NULL" for one in load.columns if one.required]
    changes += [f"DROP CONSTRAINT IF EXISTS {quote(name)}" for name, _ in load.checks]
    return f"ALTER TABLE {quote(load.schema, load.into)} {', '.join(changes)}"


def keep_masks(load: Load, following: int) -> str:
    """Change the table for rows with absent cells. Existing rows are the first round; later rows without a round belong
    to the round ``following``."""
    relation = quote(load.schema, load.into)
    columns = f"ADD COLUMN IF NOT EXISTS {ROUND} integer NOT NULL DEFAULT 0, ADD COLUMN IF NOT EXISTS {MASK} text"
    return f"ALTER TABLE {relation} {columns}; ALTER TABLE {relation} ALTER COLUMN {ROUND} SET DEFAULT {following}"
