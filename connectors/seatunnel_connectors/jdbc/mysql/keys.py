"""Keys that differ, and that the target's collation takes for one: rows are refused before they replace each other.

An upsert leaves such a key as it is in the row that it meets. Whoever wrote it looks afterwards, under the locks of its
own rows, whether each of its keys is there byte by byte.
"""

from __future__ import annotations

from seatunnel_connectors.jdbc.mysql.session import quote
from seatunnel_connectors.jdbc.statements.flavor import Row, Session
from seatunnel_connectors.jdbc.statements.load import Load
from seatunnel_py.api import BadRows

REMEDY = (
    "give the key's column a collation that tells all texts apart (utf8mb4_nopad_bin, in MySQL utf8mb4_0900_bin), or "
    "make the keys differ by more in a transform"
)


def refuse_equal_keys(
    session: Session, load: Load, rows: str, target: str, where: str = "1 = 1", values: Row = ()
) -> None:
    """BadRows where a row of the relation ``rows`` (``s`` in ``where``) went into another key's row of ``target``."""
    if not load.inexact:
        return
    names = [quote(name) for name in load.inexact]
    same = " AND ".join(f"s.{quote(name)} = t.{quote(name)}" for name in load.key)
    differs = " OR ".join(f"HEX(s.{name}) <> HEX(t.{name})" for name in names)
    shown = ", ".join(f"s.{name}, t.{name}" for name in names)
    found = session.ask(
        f"SELECT {shown} FROM {rows} s JOIN {target} t ON {same} WHERE ({where}) AND ({differs}) LIMIT 1", values
    )
    if found:
        pairs = zip(load.inexact, found[0][::2], found[0][1::2], strict=True)
        name, new, there = next((name, new, there) for name, new, there in pairs if new != there)
        raise BadRows(
            f"table {load.table}: the keys {new!r} and {there!r} of column {name!r} differ, and the target takes them "
            "for one",
            REMEDY,
        )
