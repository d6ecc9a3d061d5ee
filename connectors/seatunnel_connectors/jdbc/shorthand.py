"""Parses a Jdbc address of the command line: ``postgresql://db/shop``, ``sqlite:shop.db``, ``jdbc:mysql://…``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from seatunnel_connectors.jdbc.url import DIALECTS, parse_url
from seatunnel_connectors.save_modes import DataSaveMode
from seatunnel_py.api import Plain, Shorthand, as_pattern, dotted, globbed

_NAMES_A_SCHEMA = frozenset({"currentschema", "search_path", "options"})
"""Parameters of an address that name the schema for its tables."""


def reading(end: Shorthand, everything: Mapping[str, Plain]) -> Mapping[str, Plain] | None:
    """Options of a source."""
    connection = _connection(end)
    if connection is None:
        return None
    address = parse_url(str(connection["url"]))
    # A connection to MySQL reaches all databases of the server; the address names one.
    database = address.database if address.dialect == "mysql" else ""
    chosen: dict[str, Plain] = {}
    if end.exclude:
        chosen["exclude"] = [_patterns(end.exclude, database)]
    if end.kinds:
        chosen["kinds"] = list(end.kinds)
    if end.tables:
        return {**connection, **_tables(end.tables, database), **chosen}
    all_of = {"table_path": f"{as_pattern(database)}[.].*"} if database else {}
    return {**connection, **everything, **all_of, **chosen}


def writing(end: Shorthand, once: Sequence[str]) -> Mapping[str, Plain] | None:
    """Options of a sink; ``once``: dialects that support exactly-once writes."""
    connection = _connection(end)
    if connection is None:
        return None
    options: dict[str, Plain] = {**connection, "generate_sink_sql": True}
    address = parse_url(str(connection["url"]))
    if end.into:
        options["table"] = end.into
    elif end.schemas and address.dialect == "postgres" and not address.parameters.keys() & _NAMES_A_SCHEMA:
        options["table"] = "${schema_name:public}.${table_name}"
    if address.dialect in once:
        options["is_exactly_once"] = True
    if end.replace or end.append:
        options["data_save_mode"] = (DataSaveMode.DROP_DATA if end.replace else DataSaveMode.APPEND_DATA).value
    return options


def _connection(end: Shorthand) -> dict[str, Plain] | None:
    scheme = end.scheme.lower()
    if scheme.partition("+")[0] not in DIALECTS and "+" not in scheme and not end.address.startswith("jdbc:"):
        return None
    url = end.address
    if scheme in DIALECTS and not url.startswith("jdbc:") and "://" not in url:
        url = f"jdbc:{url}"  # sqlite:shop.db
    parse_url(url)
    given = {"url": url, "username": end.user, "password": end.password}
    return {name: value for name, value in given.items() if value}


def _tables(names: Sequence[str], database: str) -> dict[str, Plain]:
    """Options that name the tables. ``database`` is used for names without a dot."""
    if not any("*" in name for name in names):
        return naming(names)
    return {"table_path": _patterns(names, database), "use_regex": True}


def naming(names: Sequence[str]) -> dict[str, Plain]:
    """Options for tables without a pattern."""
    if len(names) == 1:
        return {"table_path": names[0]}
    return {"table_list": [{"table_path": name} for name in names]}


def _patterns(names: Sequence[str], database: str) -> str:
    """One pattern for all of these tables."""
    if not database:
        return globbed(names)
    return globbed((name if "." in name else dotted(database, name) for name in names), whole=True)
