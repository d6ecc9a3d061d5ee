"""Rows over an encrypted connection to MariaDB are those of a plain one, value by value."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seatunnel_connectors.jdbc.mysql.connection.session import MysqlSession, explained
from seatunnel_connectors.jdbc.mysql.dialect import DIALECT
from seatunnel_connectors.jdbc.mysql.read.text_rows import query_rows
from seatunnel_connectors.jdbc.options import JdbcSourceOptions
from seatunnel_connectors.jdbc.source.table_request import TableRequest
from seatunnel_connectors.jdbc.url import parse_url
from seatunnel_py.api import Batch, FatalError, SourceTable, Split, TablePath, TimeLimitError
from seatunnel_py.api.process.resources import close_all
from tests.connectors.jdbc.conftest import MariadbPlace, mariadb_place
from tests.connectors.jdbc.copying import copy_tables
from tests.servers.encrypted_mariadb import encrypted_mariadb
from tests.servers.mariadb import MariadbServer
from tests.servers.process import ServerMissing

pytestmark = pytest.mark.mariadb
Encrypted = tuple[MariadbServer, Path]

COLUMNS = {
    "tiny": "tinyint", "utiny": "tinyint unsigned", "yes": "tinyint(1)", "small": "smallint", "medium": "mediumint",
    "number": "int", "filled": "int(7) zerofill", "big": "bigint", "ubig": "bigint unsigned", "one": "bit(1)",
    "bits": "bit(40)", "exact": "decimal(20,5)", "wide": "decimal(65,30)", "single": "float", "shown": "float(7,3)",
    "twice": "double", "twice_shown": "double(12,2)", "fixed": "char(8)", "any_length": "varchar(100)",
    "old": "varchar(100) CHARACTER SET latin1", "binary_text": "varchar(50) COLLATE utf8mb4_bin", "long_text": "longtext",
    "choice": "enum('a','ü')", "choices": "set('x','y')", "raw": "varbinary(40)", "padded": "binary(5)", "lob": "blob",
    "day": "date", "hour": "time(6)", "moment": "datetime(6)", "instant": "timestamp(6) NULL", "in_year": "year",
    "document": "json", "place": "point", "id_text": "uuid", "host": "inet6",
}  # fmt: skip
ROWS = (
    "(1, -128, 255, 0, -32768, -8388608, -2147483648, 7, -9223372036854775808, 18446744073709551615, b'1', "
    "b'1111111111111111111111111111111111111111', -123456789012345.12345, 12345678901234567890123456789012345.5, "
    "3.4028234e38, 1234.5678, 1.7976931348623157e308, 0.005, ' a ', 'Zürich 😀\\n\\t\\\\', 'Zürich', 'A ', REPEAT('é', 70000), "
    "'ü', 'x,y', x'00FF0A', 'a', x'00', '1000-01-01', '23:59:59.999999', '9999-12-31 23:59:59.999999', "
    "'1970-01-01 00:00:01.000001', 1901, '{\"a\": [1, null]}', ST_GeomFromText('POINT(1.5 -2)', 4326), "
    "'123e4567-e89b-12d3-a456-426655440000', '2001:db8::ff00:42:8329')",
    f"(2{', NULL' * len(COLUMNS)})",
    "(3, 0, 0, 1, 0, 0, 0, 0, 0, 0, b'0', b'0', -0.00000, 0, -0e0, -0e0, 5e-324, -0.5, '', '', '', '', '', 'a', '', '', "
    "'', '', '2024-02-29', '00:00:00', '0001-01-01', '2038-01-19 03:14:07.999999', 2155, '0', "
    "ST_GeomFromText('POINT(0 0)'), '00000000-0000-0000-0000-000000000000', '::')",
)


@pytest.fixture(scope="module")
def encrypted() -> Iterator[Encrypted]:
    try:
        with encrypted_mariadb({"local_infile": "ON"}) as server:
            yield server
    except ServerMissing as missing:
        pytest.skip(str(missing))


@pytest.fixture
def maria(encrypted: Encrypted) -> Iterator[MariadbPlace]:
    server, authority = encrypted
    for place in mariadb_place(server):
        place.wishes = f"sslMode=VERIFY_CA&sslCa={authority}"
        yield place


def rows_read(maria: MariadbPlace, table: str, wishes: str) -> pa.Table:
    address = parse_url(f"jdbc:mysql://127.0.0.1:{maria.port}/a?{wishes}")
    options = JdbcSourceOptions.model_validate({"url": "jdbc:mysql://x/a", "table_path": table})
    [found] = DIALECT.describe(address, [TableRequest("table_path", f"a.{table}", None)], options)
    assert isinstance(found, SourceTable), found
    read = DIALECT.read(address, found, Split("0", TablePath("a", "", table)), None)
    return pa.Table.from_batches([one.data for one in read if isinstance(one, Batch)], schema=found.schema.arrow())


def test_all_types_are_the_same_as_over_a_plain_connection(maria: MariadbPlace) -> None:
    columns = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
    maria.run(f"CREATE TABLE a.t (id int PRIMARY KEY, {columns})", f"INSERT INTO a.t VALUES {', '.join(ROWS)}")

    found, plain = (rows_read(maria, "t", wishes) for wishes in (maria.wishes, "useSSL=false"))

    assert found.num_rows == len(ROWS)
    for name in plain.schema.names:  # repr: minus zero is another value than zero
        assert repr(found.column(name).to_pylist()) == repr(plain.column(name).to_pylist()), name
    assert found.schema == plain.schema


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    numbers=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=50), single=st.booleans()
)
def test_every_float_is_the_same(maria: MariadbPlace, numbers: list[float], single: bool) -> None:
    kind = "float" if single else "double"
    chosen = [one for one in numbers if not single or one == 0 or 1e-37 < abs(one) < 1e38]
    maria.run(f"CREATE OR REPLACE TABLE a.f (id int PRIMARY KEY, x {kind})")
    for at, number in enumerate(chosen):
        maria.run(f"INSERT INTO a.f VALUES ({at}, {number!r})")

    found, plain = (rows_read(maria, "f", wishes).column("x").to_pylist() for wishes in (maria.wishes, "useSSL=false"))

    assert list(map(repr, found)) == list(map(repr, plain))
    assert single or found == chosen


def test_pages_and_splits_go_on_where_they_stopped(maria: MariadbPlace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seatunnel_connectors.jdbc.mysql.read.reader.PAGE_ROWS", 700)
    monkeypatch.setattr("seatunnel_connectors.jdbc.mysql.read.reader.BATCH_ROWS", 300)
    maria.run("CREATE TABLE a.t (id int PRIMARY KEY, v text)", "INSERT INTO a.t SELECT seq, seq FROM seq_1_to_5000")

    found = rows_read(maria, "t", maria.wishes)

    assert found.column("id").to_pylist() == [*range(1, 5001)]


def test_a_reader_that_is_closed_early_leaves_its_session_usable(maria: MariadbPlace) -> None:
    maria.run("CREATE TABLE a.t (id int PRIMARY KEY)", "INSERT INTO a.t SELECT seq FROM seq_1_to_50000")
    address = parse_url(f"jdbc:mysql://127.0.0.1:{maria.port}/a?{maria.wishes}")
    options = JdbcSourceOptions.model_validate({"url": "jdbc:mysql://x/a", "table_path": "t"})
    [table] = DIALECT.describe(address, [TableRequest("table_path", "a.t", None)], options)
    assert isinstance(table, SourceTable)
    for _ in range(3):
        elements = DIALECT.read(address, table, Split("0", TablePath("a", "", "t")), None)
        next(elements)
        elements.close()  # type: ignore[attr-defined]
    assert len(rows_read(maria, "t", maria.wishes)) == 50_000


def test_large_values_and_an_error_in_the_middle(maria: MariadbPlace) -> None:
    maria.run("SET GLOBAL max_allowed_packet = 1 << 27")
    try:
        maria.run("CREATE TABLE a.t (id int PRIMARY KEY, v longtext)")
        address = parse_url(f"jdbc:mysql://127.0.0.1:{maria.port}/a?{maria.wishes}")
        with closing(MysqlSession(address)) as session:
            session.run("INSERT INTO t VALUES (1, REPEAT('a', 16777215)), (2, 'b'), (3, REPEAT('c', 40000000))")
            session.run("SET SESSION max_statement_time = 0.2")
            with pytest.raises(TimeLimitError), explained("reading"):
                [*query_rows(session.db, "SELECT seq, SLEEP(0.01) FROM seq_1_to_100000", 10, 1 << 20)]
            assert session.ask("SELECT 1") == [(1,)]

        found = rows_read(maria, "t", maria.wishes)

        assert [(len(text), set(text)) for text in found.column("v").to_pylist()] == [
            (16_777_215, {"a"}), (1, {"b"}), (40_000_000, {"c"}),
        ]  # fmt: skip
    finally:
        maria.run("SET GLOBAL max_allowed_packet = 1 << 24")


def test_a_copy_from_and_to_a_server_that_allows_only_tls(maria: MariadbPlace) -> None:
    maria.run(
        "CREATE TABLE a.t (id int PRIMARY KEY, v text)", "INSERT INTO a.t SELECT seq, MD5(seq) FROM seq_1_to_3000",
        "CREATE OR REPLACE USER careful REQUIRE SSL", "GRANT ALL ON *.* TO careful",
        "SET GLOBAL require_secure_transport = ON",
    )  # fmt: skip
    user = {"user": "careful"}
    try:
        for wishes in (maria.wishes, "sslMode=REQUIRED", ""):
            maria.wishes = wishes
            maria.run("DROP TABLE IF EXISTS b.t")
            copy_tables(maria.source(table_path="a.t") | user, maria.sink(table="t") | user)
            digest = "SELECT count(*), MD5(GROUP_CONCAT(v ORDER BY id)) FROM {}.t"
            assert maria.rows(digest.format("b")) == maria.rows(digest.format("a"))
        maria.wishes = "sslMode=DISABLED"
        with pytest.raises(FatalError, match="Access denied"):
            copy_tables(maria.source(table_path="a.t"), maria.sink(table="t"))
    finally:
        maria.run("SET GLOBAL require_secure_transport = OFF")
        close_all()


def test_an_authority_that_cannot_be_read_is_named(maria: MariadbPlace, tmp_path: Path) -> None:
    maria.run("CREATE TABLE a.t (id int PRIMARY KEY)")
    (broken := tmp_path / "broken.pem").write_text("not a certificate")
    for file in (broken, tmp_path / "missing.pem"):
        with pytest.raises(FatalError, match=f"{file.name}.*cannot be read"):
            rows_read(maria, "t", f"sslMode=VERIFY_CA&sslCa={file}")
