"""Refuses rows whose keys differ but are equal in the target's collation, before they replace each other.

An upsert leaves the key of the row that it meets unchanged. The writer then checks, under the locks of its own rows,
that each of its keys exists byte by byte.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from seatunnel_connectors.jdbc.statements.load_plan import StatementLoad
from seatunnel_connectors.jdbc.statements.target_dialect import Row, StatementSession, TargetDialect
from seatunnel_py.api import BadRowsError


def refuse_equal_keys(
    dialect: TargetDialect,
    session: StatementSession,
    load: StatementLoad,
    rows: str,
    target: str,
    where: str = "1 = 1",
    values: Row = (),
) -> None:
    """Raise BadRowsError if a row of the relation ``rows`` (``s`` in ``where``) was merged into another key's row of
    ``target``."""
    if not load.inexact:
        return
    names = [dialect.quote(name) for name in load.inexact]
    same = " AND ".join(f"t.{dialect.quote(name)} = s.{dialect.quote(name)}" for name in load.key)
    differs = " OR ".join(f"HEX(s.{name}) <> HEX(t.{name})" for name in names)
    shown = ", ".join(f"s.{name}, t.{name}" for name in names)
    found = session.ask(
        f"SELECT {shown} FROM {rows} s JOIN {target} t ON {same} WHERE ({where}) AND ({differs}) LIMIT 1", values
    )
    if found:
        raise _taken_for_one(dialect, load, found[0][::2], found[0][1::2])


def refuse_equal_rows(
    dialect: TargetDialect, session: StatementSession, load: StatementLoad, target: str, rows: Sequence[Row]
) -> None:
    """Refuse collisions among rows that were written one by one."""
    names = [dialect.quote(name) for name in load.inexact]
    same = " AND ".join(f"{dialect.quote(name)} = {dialect.marker}" for name in load.key)
    differs = " OR ".join(f"HEX({name}) <> HEX({dialect.marker})" for name in names)
    sql = f"SELECT {', '.join(names)} FROM {target} WHERE {same} AND ({differs})"
    places = [load.names.index(name) for name in (*load.key, *load.inexact)]
    new = [load.names.index(name) for name in load.inexact]
    for row in rows:
        if found := session.ask(sql, tuple(row[at] for at in places)):
            raise _taken_for_one(dialect, load, [row[at] for at in new], found[0])


def refuse_rows_of_other_keys(
    dialect: TargetDialect, session: StatementSession, load: StatementLoad, rows: str, target: str, values: Row = ()
) -> None:
    """Raise BadRowsError if a row that the query ``rows`` has written is not in the target under its key: it met a row
    with another key that is equal in another unique key, and which stays unchanged."""
    if not load.other_keys:
        return
    names = [dialect.quote(name) for name in load.key]
    same = " AND ".join(f"t.{name} = s.{name}" for name in names)
    known = " AND ".join(f"s.{name} IS NOT NULL" for name in names)
    found = session.ask(
        f"SELECT {', '.join(f's.{name}' for name in names)} FROM ({rows}) s "
        f"WHERE {known} AND NOT EXISTS (SELECT 1 FROM {target} t WHERE {same}) LIMIT 1",
        values,
    )
    if found:
        key = ", ".join(f"{name} = {value!r}" for name, value in zip(load.key, found[0], strict=True))
        raise BadRowsError(
            f"table {load.table}: the row of {key} is equal to a row of another key in another unique key of the "
            "target, and would take its place",
            "set primary_keys to the unique key that identifies rows, drop the other one, or make its values differ",
        )


def _taken_for_one(
    dialect: TargetDialect, load: StatementLoad, new: Sequence[Any], there: Sequence[Any]
) -> BadRowsError:
    pairs = zip(load.inexact, new, there, strict=True)
    name, one, other = next((name, one, other) for name, one, other in pairs if one != other)
    return BadRowsError(
        f"table {load.table}: the keys {one!r} and {other!r} of column {name!r} differ, and the target takes them "
        "for one",
        f"give the key's column a collation that tells all texts apart ({dialect.exact_collations}), or make the keys "
        "differ by more in a transform",
    )
