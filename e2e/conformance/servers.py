"""The databases that the jobs expect, on servers that this run started: users, tables and rows.

Columns are those that the jobs name. PostGIS is not among the test servers: geometry columns are domains over text,
so that their values still travel as the text that SeaTunnel reads and writes for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg

from e2e.conformance.models import model_server
from e2e.conformance.topics import Kafka
from tests.servers.kafka import KafkaServer
from tests.servers.mariadb import ROW_LOG, MariadbServer
from tests.servers.ports import LOOPBACK
from tests.servers.postgres import PostgresServer
from tests.servers.process import ServerMissing

SOURCE_ROWS = 100

PG_GEOMETRIES = (
    "point", "linestring", "polygon_colums", "multipoint", "multilinestring", "multipolygon", "geometrycollection",
    "geog",
)  # fmt: skip
PG_TYPES = {
    "gid": "serial PRIMARY KEY",
    "uuid_col": "uuid",
    "text_col": "text",
    "varchar_col": "varchar(255)",
    "char_col": "char(10)",
    "boolean_col": "bool",
    "smallint_col": "int2",
    "integer_col": "int4",
    "bigint_col": "int8",
    "decimal_col": "decimal(10, 2)",
    "numeric_col": "numeric(8, 4)",
    "real_col": "float4",
    "double_precision_col": "float8",
    "smallserial_col": "smallserial",
    "serial_col": "serial",
    "bigserial_col": "bigserial",
    "date_col": "date",
    "timestamp_col": "timestamp",
    "bpchar_col": "bpchar(10)",
    "age": "int NOT NULL",
    "name": "varchar(255) NOT NULL",
    **dict.fromkeys(PG_GEOMETRIES[:-1], "geometry"),
    "geog": "geography",
}
PG_DOCUMENTS = {"json_col": "json NOT NULL", "jsonb_col": "jsonb NOT NULL", "xml_col": "xml NOT NULL"}
# One value per column, as SQL over the number i of the row; every third row is null where it may be.
PG_VALUES = {
    "gid": "i",
    "uuid_col": "md5(i::text)::uuid",
    "text_col": "'text ' || i || E' \\'quoted\\' \"double\" back\\\\slash\\ttab\\nline 中文'",
    "varchar_col": "'v' || lpad(i::text, 5, '0')",
    "char_col": "'c' || i",
    "boolean_col": "i % 2 = 0",
    "smallint_col": "-i",
    "integer_col": "i * 1000003",
    "bigint_col": "i * 92233720368547758",
    "decimal_col": "i * -1.25",
    "numeric_col": "i * 1.0001",
    "real_col": "i * 0.1",
    "double_precision_col": "i / 3.0",
    "smallserial_col": "i",
    "serial_col": "i",
    "bigserial_col": "i",
    "date_col": "date '1960-02-28' + i * 200",
    "timestamp_col": "timestamp '2000-01-01 00:00:00.123456' + i * interval '1 hour'",
    "bpchar_col": "'b' || i",
    "age": "20 + i",
    "name": "'name ' || i",
    **dict.fromkeys(PG_GEOMETRIES, "'0101000020E6100000' || lpad(i::text, 32, '0')"),
    "json_col": """('{"k":  ' || i || ', "k": "twice"}')::json""",
    "jsonb_col": """('{"k": [' || i || ', null]}')::jsonb""",
    "xml_col": "xmlparse(CONTENT '<a n=\"' || i || '\">x</a>')",
    "inet_col": "('192.168.0.' || i)::inet",
}
_NEVER_NULL = frozenset({"gid", "smallserial_col", "serial_col", "bigserial_col", "age", "name", "varchar_col"})


@dataclass(frozen=True, slots=True)
class Postgres:
    """Database ``test`` of user ``test``, as SeaTunnel's container has it."""

    server: PostgresServer

    @property
    def host(self) -> str:
        return f"{LOOPBACK}:{self.server.port}"

    def create(self) -> None:
        with psycopg.connect(self.server.dsn, autocommit=True) as connection:
            connection.execute("CREATE ROLE test LOGIN SUPERUSER PASSWORD 'test'")
            connection.execute("CREATE DATABASE test OWNER test")

    def reset(self) -> None:
        """An empty database. Not a new one: workers may hold connections to it."""
        self.execute("DROP SCHEMA public CASCADE", "CREATE SCHEMA public")
        self.execute("CREATE DOMAIN geometry AS text", "CREATE DOMAIN geography AS text")

    def execute(self, *statements: str, database: str = "test") -> None:
        with psycopg.connect(self.server.dsn_of(database), autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement.encode())

    def rows(self, query: str, database: str = "test") -> list[tuple[Any, ...]]:
        with psycopg.connect(self.server.dsn_of(database), autocommit=True) as connection:
            return connection.execute(query.encode()).fetchall()


def pg_tables(postgres: Postgres) -> None:
    """``pg_e2e_source_table`` with rows, and an empty ``pg_e2e_sink_table``."""
    types = PG_TYPES | PG_DOCUMENTS
    postgres.execute(
        f"CREATE TABLE pg_e2e_source_table ({_columns(types)})",
        f"CREATE TABLE pg_e2e_sink_table ({_columns(types)})",
        _pg_insert("pg_e2e_source_table", types),
    )


def pg_ide_tables(postgres: Postgres) -> None:
    """The tables of the upper-case job: its sink's names are all upper case."""
    types = {name: kind for name, kind in PG_TYPES.items() if name != "uuid_col"} | {"inet_col": "inet"}
    upper = {f'"{name.upper()}"': kind for name, kind in types.items()}
    postgres.execute(
        f"CREATE TABLE pg_ide_source_table ({_columns(types)})",
        f'CREATE TABLE "PG_IDE_SINK_TABLE" ({_columns(upper)})',
        _pg_insert("pg_ide_source_table", types),
    )


def pg_people(postgres: Postgres) -> None:
    """An empty ``sink`` for the generated people."""
    postgres.execute("CREATE TABLE sink (user_id bigint PRIMARY KEY, name varchar(255), age int)")


def pg_scores(postgres: Postgres) -> None:
    """An empty ``sink`` for the change log."""
    postgres.execute("CREATE TABLE sink (pk_id bigint PRIMARY KEY, name varchar(255), score int)")


def pg_products(server: Any) -> None:
    """An empty ``sink`` for a change log from a topic."""
    if isinstance(server, Postgres):
        server.execute("CREATE TABLE sink (id int PRIMARY KEY, name text, description text, weight text)")


def pg_texts(table: str, columns: Iterable[str]) -> str:
    """A query of all columns as PostgreSQL's own text, in a fixed order."""
    names = list(columns)
    return f"SELECT {', '.join(f'{name}::text' for name in names)} FROM {table} ORDER BY {names[0]}"


def _columns(types: dict[str, str]) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in types.items())


def _pg_insert(table: str, types: dict[str, str]) -> str:
    values = [
        PG_VALUES[name]
        if name in _NEVER_NULL or "NOT NULL" in kind
        else f"CASE WHEN (i + {at}) % 3 > 0 THEN {PG_VALUES[name]} END"
        for at, (name, kind) in enumerate(types.items())
    ]
    return f"INSERT INTO {table} SELECT {', '.join(values)} FROM generate_series(1, {SOURCE_ROWS}) i"


MYSQL_TYPES = {
    "c_bit_1": "bit(1)",
    "c_bit_8": "bit(8)",
    "c_bit_16": "bit(16)",
    "c_bit_32": "bit(32)",
    "c_bit_64": "bit(64)",
    "c_boolean": "tinyint(1)",
    "c_tinyint": "tinyint(4)",
    "c_tinyint_unsigned": "tinyint(3) unsigned",
    "c_smallint": "smallint(6)",
    "c_smallint_unsigned": "smallint(5) unsigned",
    "c_mediumint": "mediumint(9)",
    "c_mediumint_unsigned": "mediumint(8) unsigned",
    "c_int": "int(11)",
    "c_integer": "int(11)",
    "c_bigint": "bigint(20)",
    "c_bigint_unsigned": "bigint(20) unsigned",
    "c_decimal": "decimal(20, 0)",
    "c_decimal_unsigned": "decimal(38, 18) unsigned",
    "c_float": "float",
    "c_float_unsigned": "float unsigned",
    "c_double": "double",
    "c_double_unsigned": "double unsigned",
    "c_char": "char(1)",
    "c_tinytext": "tinytext",
    "c_mediumtext": "mediumtext",
    "c_text": "text",
    "c_varchar": "varchar(255)",
    "c_json": "json",
    "c_longtext": "longtext",
    "c_date": "date",
    "c_datetime": "datetime",
    "c_time": "time",
    "c_timestamp": "timestamp NULL",
    "c_tinyblob": "tinyblob",
    "c_mediumblob": "mediumblob",
    "c_blob": "blob",
    "c_longblob": "longblob",
    "c_varbinary": "varbinary(255)",
    "c_binary": "binary(1)",
    "c_year": "year(4)",
    "c_int_unsigned": "int(10) unsigned",
    "c_integer_unsigned": "int(10) unsigned",
    "c_bigint_30": "bigint(40) unsigned",
    "c_decimal_unsigned_30": "decimal(30) unsigned",
    "c_decimal_30": "decimal(30)",
}
MYSQL_VALUES = {
    "c_bit_1": "i % 2",
    "c_bit_8": "i",
    "c_bit_16": "i * 257",
    "c_bit_32": "i * 16777259",
    "c_bit_64": "i * 72057594037927937",
    "c_boolean": "i % 2",
    "c_tinyint": "-i",
    "c_tinyint_unsigned": "i + 150",
    "c_smallint": "-i * 300",
    "c_smallint_unsigned": "i * 600",
    "c_mediumint": "-i * 80000",
    "c_mediumint_unsigned": "i * 160000",
    "c_int": "i - 5",
    "c_integer": "-i * 20000000",
    "c_bigint": "-i * 92233720368547758",
    "c_bigint_unsigned": "18446744073709551615 - i",
    "c_decimal": "i * 99999999999999",
    "c_decimal_unsigned": "i + 0.123456789012345678",
    "c_float": "i * 0.5",
    "c_float_unsigned": "i * 0.25",
    "c_double": "i / 3",
    "c_double_unsigned": "i / 7",
    "c_char": "'f'",
    "c_tinytext": "concat('tiny ', i)",
    "c_mediumtext": "concat('medium ', i, ' 中文')",
    "c_text": "concat('text ', i, ' \\'quoted\\' \"double\" \\\\ \\t \\n')",
    "c_varchar": "concat('v', i)",
    "c_json": """concat('{"i": ', i, '}')""",
    "c_longtext": "repeat('long ', i)",
    "c_date": "date '1999-12-31' + interval i day",
    "c_datetime": "timestamp '2001-02-03 04:05:06' + interval i hour",
    "c_time": "sec_to_time(i * 800)",
    "c_timestamp": "timestamp '2011-02-03 04:05:06' + interval i minute",
    "c_tinyblob": "unhex(lpad(hex(i), 8, '00FF'))",
    "c_mediumblob": "unhex(lpad(hex(i), 16, '00FF'))",
    "c_blob": "unhex(sha1(i))",
    "c_longblob": "unhex(sha2(i, 512))",
    "c_varbinary": "unhex(md5(i))",
    "c_binary": "char(i)",
    "c_year": "1990 + i",
    "c_int_unsigned": "i * 40000000",
    "c_integer_unsigned": "i * 41000000",
    "c_bigint_30": "i",
    "c_decimal_unsigned_30": "i * 1000000000000000000.0",
    "c_decimal_30": "-i * 1000000000000000000.0",
}
_MYSQL_NEVER_NULL = frozenset({"c_int", "c_bigint_30", "c_decimal_unsigned_30"})
MYSQL_PASSWORD = "Abc!@#135_seatunnel"  # of SeaTunnel's container: it stands in the job files


@dataclass(frozen=True, slots=True)
class Mysql:
    """Databases ``seatunnel``, ``source`` and ``sink`` of user ``root``, as SeaTunnel's container has them."""

    server: MariadbServer

    @property
    def host(self) -> str:
        return f"{LOOPBACK}:{self.server.port}"

    def create(self) -> None:
        with self._connect("") as connection, connection.cursor() as cursor:
            cursor.execute(f"SET PASSWORD = PASSWORD('{MYSQL_PASSWORD}')")

    def reset(self) -> None:
        """Databases without tables; ``sink`` is not there at all: a sink that needs it creates it."""
        self.execute(*(f"DROP DATABASE IF EXISTS {name}" for name in ("seatunnel", "source", "sink")))
        self.execute("CREATE DATABASE seatunnel", "CREATE DATABASE source")

    def execute(self, *statements: str) -> None:
        with self._connect(MYSQL_PASSWORD) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            connection.commit()

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with self._connect(MYSQL_PASSWORD) as connection, connection.cursor() as cursor:
            cursor.execute(query)
            return list(cursor.fetchall())

    def _connect(self, password: str) -> Any:
        import pymysql

        return pymysql.connect(**{**self.server.connection(), "password": password, "database": None})


def mysql_tables(mysql: Mysql) -> None:
    """``seatunnel.source`` and the tables of ``source`` with rows, an empty ``seatunnel.sink``."""
    columns = _columns(MYSQL_TYPES)
    values = [
        MYSQL_VALUES[name] if name in _MYSQL_NEVER_NULL else f"if((i + {at}) % 3 > 0, {MYSQL_VALUES[name]}, NULL)"
        for at, name in enumerate(MYSQL_TYPES)
    ]
    numbers = f"(SELECT cast(seq AS signed) AS i FROM seatunnel.seq_1_to_{SOURCE_ROWS}) numbers"
    filled = ("seatunnel.source", "source.table1", "source.table2")
    mysql.execute(
        *(f"CREATE TABLE {table} ({columns}, UNIQUE (c_bigint_30))" for table in (*filled, "seatunnel.sink")),
        *(f"INSERT INTO {table} SELECT {', '.join(values)} FROM {numbers}" for table in filled),
    )


@dataclass(frozen=True, slots=True)
class Servers:
    """What was started. ``missing`` says of a kind why there is none."""

    postgres: Postgres | None = None
    mysql: Mysql | None = None
    kafka: Kafka | None = None
    models: str = ""
    missing: Mapping[str, str] = field(default_factory=dict)

    @property
    def hosts(self) -> dict[str, str]:
        """The addresses by kind."""
        found = {"postgresql": self.postgres.host} if self.postgres else {}
        found |= {"mysql": self.mysql.host} if self.mysql else {}
        found |= {"kafka": self.kafka.host} if self.kafka else {}
        return found | ({"models": self.models} if self.models else {})

    def database(self, kind: str) -> Postgres | Mysql:
        """The database of a kind that was started."""
        found = self.server(kind)
        assert not isinstance(found, Kafka), "a broker is no database"
        return found

    def server(self, kind: str) -> Postgres | Mysql | Kafka:
        """The server of a kind that was started."""
        found = {"postgresql": self.postgres, "mysql": self.mysql, "kafka": self.kafka}[kind]
        assert found is not None, f"there is no {kind}"
        return found


@contextmanager
def started(kinds: set[str]) -> Iterator[Servers]:
    """The servers of these kinds, while the block runs."""
    missing: dict[str, str] = {}
    postgres: Postgres | None = None
    mysql: Mysql | None = None
    kafka: Kafka | None = None
    with ExitStack() as stack:
        if "postgresql" in kinds:
            try:
                settings = {"wal_level": "logical"}
                postgres = Postgres(stack.enter_context(PostgresServer.running(settings=settings)))
                postgres.create()
            except ServerMissing as error:
                missing["postgresql"] = str(error)
        if "mysql" in kinds:
            try:
                mysql = Mysql(stack.enter_context(MariadbServer.running(settings=ROW_LOG)))
                mysql.create()
            except ServerMissing as error:
                missing["mysql"] = str(error)
        if "kafka" in kinds:
            try:
                kafka = Kafka(stack.enter_context(KafkaServer.running()))
            except ServerMissing as error:
                missing["kafka"] = str(error)
        models = stack.enter_context(model_server()) if "models" in kinds else ""
        yield Servers(postgres, mysql, kafka, models, missing)
