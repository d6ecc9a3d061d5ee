"""Reads a split with one binary COPY, in the order of its key if that costs nothing."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

from seatunnel_connectors.jdbc.dialect import PLANNED_ANEW
from seatunnel_connectors.jdbc.postgres.connection.copy_types import selected
from seatunnel_connectors.jdbc.postgres.connection.session import Rows, explained, literal, quote, rows
from seatunnel_connectors.jdbc.postgres.read.snapshot import check_snapshot, join_snapshot, unchanged
from seatunnel_connectors.jdbc.source.source import Hints, hints_of, range_of, rows_planned
from seatunnel_connectors.jdbc.source.splits import as_plain
from seatunnel_connectors.jdbc.target.set_aside import elements
from seatunnel_connectors.jdbc.url import Address
from seatunnel_py.api import Batch, Position, Rejected, SourceTable, Split

MOVED_SINCE = "moved_since"
UNMOVED_SINCE = "unmoved_since"
"""Keys of a split's payload: the oldest transaction that the first snapshot of its table does not show. See
``_place``."""
BATCH_BYTES = 1 << 20  # measured (bench/README.md): a batch of this size stays in the cache on its way

REMEDY = f"replace the value with `query`; {PLANNED_ANEW}"

# ---------------------------------------------------------------- the statement


def statement(hints: Hints, split: Split, start: Position | None, *, native: bool = False) -> str:
    """The SELECT of one split after a position; ``native`` keeps every column's own type."""
    conditions = [f"({hints.where}\n)"] if hints.where else []
    key = quote(hints.key) if hints.key else ""
    place = _place(split)
    if place:
        conditions.append(place)
    elif range_of(split).condition(key, literal):
        conditions.append(range_of(split).condition(key, literal))
    if start is not None:
        conditions.append(f"{key} > {literal(str(start.value['after']))}")
    found = zip(hints.columns, hints.fulls or [""] * len(hints.columns), strict=True)
    chosen = [(name, selected(full, name, sql) if native else sql) for (name, sql), full in found]
    columns = ", ".join(sql if sql == quote(name) else f"{sql} AS {quote(name)}" for name, sql in chosen)
    sql = f"SELECT {columns} FROM {hints.relation}"
    if conditions:
        sql += " WHERE " + " AND ".join(conditions)
    return sql + (f" ORDER BY {key}" if _resumable(hints, split) else "")


def _place(split: Split) -> str:
    """SQL condition for blocks of the table, half open like key ranges; the last has no end. After a lost snapshot, one
    split takes all rows that were written since, too, and the others leave them to it (``block_renewal``)."""
    first, until = split.payload.get("first"), split.payload.get("until")
    parts = [] if first is None else [f"ctid >= '({first},0)'::tid"]
    if until is not None:
        parts.append(f"ctid < '({until},0)'::tid")
    place = " AND ".join(parts)
    if place and (since := split.payload.get(MOVED_SINCE)) is not None:
        return f"({place} OR age(xmin) <= age('{since}'::xid))"
    if place and (since := split.payload.get(UNMOVED_SINCE)) is not None:
        return f"{place} AND age(xmin) > age('{since}'::xid)"
    return place


def _resumable(hints: Hints, split: Split) -> bool:
    """True if the split is read in the order of its unique key, so that a reader can resume after any row."""
    return hints.ordered and not split.payload.get("nulls") and "first" not in split.payload


# ---------------------------------------------------------------- the reader


def read(
    address: Address, table: SourceTable, split: Split, start: Position | None, *, tolerant: bool = False
) -> Iterator[Batch | Rejected]:
    from seatunnel_connectors.jdbc.postgres.read import arrow_conversion  # a driver needs no Arrow

    hints = hints_of(table)
    schema = table.schema.arrow()
    generation = str(split.payload.get("snapshot") or "")
    resumable = _resumable(hints, split)
    key_at = table.schema.names.index(hints.key) if resumable else -1
    what = f"reading table {table.schema.path}, split {split.id}"
    sql = statement(hints, split, start)
    with explained(what), rows(address) as connection:
        if generation:
            _join(connection, generation, table, sql)
        begin = start
        copying = connection.copy(sql, BATCH_BYTES)
        try:
            for found in copying:
                if not found.num_rows:
                    continue
                end = None
                if resumable:
                    last = as_plain(arrow_conversion.last_key(found.column(key_at)))
                    end = Position({"after": last}, generation)
                make, row = (
                    partial(arrow_conversion.declared, found, schema),
                    partial(arrow_conversion.as_it_came, found),
                )
                yield from elements(
                    table.schema.path, found.num_rows, make, row, start=begin, end=end, tolerant=tolerant, what=what,
                    remedy=REMEDY,
                )  # fmt: skip
                begin = end
        except GeneratorExit:
            # The unit's budget is spent, which is not a failure: the connection stays usable for the next unit. The
            # statement also absorbs a cancel that reached the server after the COPY had ended.
            copying.close()
            connection.run("ROLLBACK")
            return
        if generation:
            connection.run("COMMIT")


def _join(connection: Rows, generation: str, table: SourceTable, sql: str) -> None:
    try:
        connection.run(f"{join_snapshot(generation)}; {unchanged(sql)}")
    except Exception as error:
        check_snapshot(error, generation, table)
        raise


def places(table: SourceTable, parts: int, generation: str) -> list[Split]:
    """Splits by ranges of blocks: equal in bytes for any distribution of keys, and each block is read once."""
    pages = hints_of(table).pages
    step = max(1, math.ceil(pages / parts))
    firsts = list(range(0, pages, step))
    rows = rows_planned(table)
    count = len(firsts)
    return [
        Split(
            f"{table.schema.path}#{at}",
            table.schema.path,
            {"first": first, "until": first + step if at + 1 < count else None, "snapshot": generation},
            None if rows is None else max(1, rows // count),
            None if table.bytes is None else table.bytes // count,
            generation=generation,
        )
        for at, first in enumerate(firsts)
    ]
