"""Names tables of databases for lineage events, after the rules of OpenLineage."""

from __future__ import annotations

import os

from seatunnel_connectors.jdbc.url import Address
from seatunnel_py.api import Dataset, TablePath, TargetPlace


def table_dataset(address: Address, path: TablePath) -> Dataset:
    """The table of this path at this address; of several servers in the address the first one names it."""
    database = path.database or address.database
    if address.dialect == "sqlite":
        return Dataset("file", f"{os.path.realpath(address.path)}/{path.table}")
    if address.dialect == "sqlalchemy":
        scheme = address.raw.partition("://")[0].partition("+")[0]
        return Dataset.of_server(scheme, address.host, address.port, database, path.schema, path.table)
    host, port = address.places[0]
    if address.dialect == "mysql":
        return Dataset.of_server("mysql", host, port, database, path.table)
    return Dataset.of_server("postgres", host, port, database, path.schema or "public", path.table)


def target_dataset(address: Address, place: TargetPlace) -> Dataset:
    """The table at the place of a sink's target."""
    *outer, table = place.names
    name = outer[0] if outer else ""
    if address.dialect == "postgres":
        return table_dataset(address, TablePath(str(place.system[-1]), name, table))
    return table_dataset(address, TablePath(name, "", table))
