"""Adds ``table_options`` to the CREATE TABLE of a new target.

Names and values are single words, so they cannot contain statements.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping

MYSQL = {"engine": "ENGINE", "charset": "DEFAULT CHARSET", "collate": "COLLATE"}
TABLESPACE = "tablespace"
FILLING = "autovacuum_enabled"
"""PostgreSQL's storage parameter for a table that is being filled; the sink sets and resets it."""

_WORD = re.compile(r"\w+")
_NAME = re.compile(r"[a-z_]+(\.[a-z_]+)?")
_VALUE = re.compile(r"-?[\w.]+")


def problem(dialect: str, given: Mapping[str, str]) -> str:
    """The fault of these options for a database of that kind; empty without one."""
    if given and dialect not in ("mysql", "postgres"):
        return "only MySQL, MariaDB and PostgreSQL tables have options"
    for name, value in given.items():
        if dialect == "mysql" and name.lower() not in MYSQL:
            near = difflib.get_close_matches(name.lower(), MYSQL, n=1)
            return f"{name!r} is none of {', '.join(MYSQL)}" + (f"; did you mean {near[0]}?" if near else "")
        if dialect == "postgres" and (name.lower() == FILLING or not _NAME.fullmatch(name.lower())):
            return f"{name!r} is neither tablespace nor a storage parameter such as fillfactor"
        if not (_VALUE if dialect == "postgres" and name.lower() != TABLESPACE else _WORD).fullmatch(value):
            return f"the value of {name!r} is not a single word"
    return ""


def by_name(given: Mapping[str, str]) -> dict[str, str]:
    """The options under the names that they have here, however they were spelled."""
    return {name.lower(): value for name, value in given.items()}


def mysql_ending(given: Mapping[str, str]) -> str:
    """Text after the columns, always with the engine: other engines cannot roll a unit back."""
    words = {"engine": "InnoDB"} | by_name(given)
    return "".join(f" {MYSQL[name]}={value}" for name, value in words.items())


def postgres_ending(given: Mapping[str, str], *, filling: bool) -> str:
    """Text after the columns; ``filling``: rows are loaded before the key is built, without autovacuum."""
    stored = by_name(given)
    tablespace = stored.pop(TABLESPACE, "")
    stored |= {FILLING: "off"} if filling else {}
    parts = [f" WITH ({', '.join(f'{name} = {value}' for name, value in stored.items())})"] if stored else []
    parts += [f' TABLESPACE "{tablespace}"'] if tablespace else []
    return "".join(parts)
