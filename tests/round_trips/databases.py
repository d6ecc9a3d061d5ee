"""Databases that values come from and return to. Each shows a value in words of its own, which are compared."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import psycopg

from tests.round_trips.kinds import Kind
from tests.round_trips.postgres_kinds import KINDS as POSTGRES_KINDS
from tests.round_trips.postgres_kinds import SETUP
from tests.servers.postgres import PostgresServer

Texts = Mapping[int, str | None]
"""Values by the id of their row, as the database shows them."""


class Database(ABC):
    """Tables ``(id, v)``: ``fill`` makes them where jobs read, ``like`` where they come back to."""

    kinds: ClassVar[Sequence[Kind]]

    @abstractmethod
    def close(self) -> None:
        """Close the connection beside ours."""

    @abstractmethod
    def reset(self) -> None:
        """Empty everything."""

    @abstractmethod
    def fill(self, table: str, kind: Kind, values: Sequence[str | None]) -> Texts:
        """Make the table and return what the database took, as it shows it."""

    @abstractmethod
    def like(self, table: str, kind: Kind) -> None:
        """An empty table of the same type where rows come back to."""

    @abstractmethod
    def texts(self, table: str) -> Texts:
        """What came back; empty where there is no such table."""

    @abstractmethod
    def source(self, tables: Sequence[str]) -> str:
        """The Jdbc source of a job file."""

    @abstractmethod
    def source_of_returned(self, tables: Sequence[str]) -> str:
        """The Jdbc source of the tables that ``sink`` wrote."""

    @abstractmethod
    def sink(self) -> str:
        """The Jdbc sink of a job file, into the tables of ``like`` or, where there are none, new ones."""


def entries(pairs: Mapping[str, Any]) -> str:
    """Options as a job file writes them."""
    import json

    return ", ".join(f"{name} = {json.dumps(value)}" for name, value in pairs.items())


_FITS = """
    CREATE FUNCTION fits(value text, type text) RETURNS boolean LANGUAGE plpgsql AS $$
    BEGIN
        EXECUTE format('SELECT %L::%s', value, type);
        RETURN true;
    EXCEPTION WHEN data_exception OR check_violation OR program_limit_exceeded THEN
        RETURN false;
    END $$"""
_FITTING = "SELECT at, value FROM unnest(%s::bigint[], %s::text[]) rows (at, value) WHERE fits(value, %s)"


@dataclass
class Postgres(Database):
    """Schema ``a`` to read from, ``b`` to come back to."""

    server: PostgresServer
    name: str = "types"
    kinds = POSTGRES_KINDS

    def __post_init__(self) -> None:
        with psycopg.connect(self.server.dsn, autocommit=True) as admin:
            admin.execute(f"CREATE DATABASE {self.name}".encode())
        self.db: psycopg.Connection[tuple[Any, ...]] = psycopg.connect(
            self.server.dsn_of(self.name), autocommit=True, options="-c intervalstyle=postgres -c extra_float_digits=1"
        )
        self.db.execute("CREATE SCHEMA a; CREATE SCHEMA b; SET lc_monetary = 'C'")
        for statement in (*SETUP, _FITS):
            self.db.execute(statement.encode())

    def close(self) -> None:
        self.db.close()

    def reset(self) -> None:
        self.db.execute("DROP SCHEMA a CASCADE; DROP SCHEMA b CASCADE; CREATE SCHEMA a; CREATE SCHEMA b")

    def fill(self, table: str, kind: Kind, values: Sequence[str | None]) -> Texts:
        self.db.execute(f"CREATE TABLE a.{table} (id bigint PRIMARY KEY, v {kind.words})".encode())
        rows = [(at, value) for at, value in enumerate(values) if value is None or "\0" not in value]
        try:
            self.insert(table, kind, rows)
        except psycopg.DataError:  # one of them is refused
            ids, texts = [at for at, _ in rows], [value for _, value in rows]
            fitting = self.db.execute(_FITTING.encode(), [ids, texts, kind.words]).fetchall()
            self.insert(table, kind, fitting)
        self.db.execute(f"ANALYZE a.{table}".encode())
        return self.texts_in("a", table)

    def insert(self, table: str, kind: Kind, rows: Sequence[tuple[int, str | None]]) -> None:
        """Insert rows where jobs read."""
        sql = f"INSERT INTO a.{table} SELECT at, value::{kind.words} FROM unnest(%s::bigint[], %s::text[]) rows (at, value)"
        self.db.execute(sql.encode(), [[at for at, _ in rows], [value for _, value in rows]])

    def like(self, table: str, kind: Kind) -> None:
        self.db.execute(f"CREATE TABLE b.{table} (id bigint PRIMARY KEY, v {kind.words})".encode())

    def texts(self, table: str) -> Texts:
        return self.texts_in("b", table)

    def texts_in(self, schema: str, table: str) -> Texts:
        """The rows of a table in one of the schemas."""
        if self.db.execute("SELECT to_regclass(%s)", [f"{schema}.{table}"]).fetchone() == (None,):
            return {}
        return dict(
            self.db.execute(
                f"SELECT id, CASE WHEN v IS DISTINCT FROM NULL THEN format('%s', v) END FROM {schema}.{table}".encode()
            ).fetchall()
        )

    def connection(self) -> dict[str, Any]:
        """Options of a job file."""
        return {"url": self.server.jdbc_url(self.name), "username": "postgres"}

    def source(self, tables: Sequence[str]) -> str:
        return self._source("a", tables)

    def source_of_returned(self, tables: Sequence[str]) -> str:
        return self._source("b", tables)

    def _source(self, schema: str, tables: Sequence[str]) -> str:
        listed = [{"table_path": f"{schema}.{table}"} for table in tables]
        return f"Jdbc {{ {entries({**self.connection(), 'table_list': listed})} }}"

    def sink(self) -> str:
        return f'Jdbc {{ {entries({**self.connection(), "generate_sink_sql": True})}, table = "b.${{table_name}}" }}'
