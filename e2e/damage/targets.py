"""The databases of a scenario's targets: kept beside as a copy, put back, and thrown away."""

from __future__ import annotations

from contextlib import closing

from psycopg import Connection, sql

from e2e.crash_sweep.place import Place


def keep(place: Place, number: int) -> None:
    """A copy of the case's database in PostgreSQL, with the numbers of its tables."""
    _copy(place, place.name, f"{place.name}_{number}")


def put_back(place: Place, number: int) -> None:
    """The database is as it was when it was kept."""
    _copy(place, f"{place.name}_{number}", place.name)


def _copy(place: Place, source: str, into: str) -> None:
    with place.on_postgres("postgres") as connection:
        _drop(connection, into)
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [source])
        copy = sql.SQL("CREATE DATABASE {into} TEMPLATE {source} STRATEGY file_copy")
        connection.execute(copy.format(source=sql.Identifier(source), into=sql.Identifier(into)))


def _drop(connection: Connection, name: str) -> None:
    connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


def drop(place: Place, servers: tuple[str, ...]) -> None:
    """Nothing of the case is on its servers any more; a topic stays, of another name than the next."""
    if "postgres" in servers:
        with place.on_postgres("postgres") as connection:
            there = "SELECT 1 FROM pg_database WHERE datname = %s"
            if connection.execute(there, [place.name]).fetchone():
                _roll_back(place)
            for name in (place.name, f"{place.name}_in"):
                _drop(connection, name)
    if "mariadb" in servers:
        with closing(place.on_mariadb("")) as connection, connection.cursor() as cursor:
            cursor.execute(f"DROP DATABASE IF EXISTS `{place.name}`")


def _roll_back(place: Place) -> None:
    """A database with prepared transactions cannot be dropped."""
    with place.on_postgres() as connection:
        prepared = "SELECT gid FROM pg_prepared_xacts WHERE database = current_database()"
        for (gid,) in connection.execute(prepared).fetchall():
            connection.execute(sql.SQL("ROLLBACK PREPARED {}").format(sql.Literal(gid)))
