"""MySQL dialect against MariaDB: types both ways, splits and pages, LOAD DATA and its refusals, keys, save modes."""

from __future__ import annotations

import socketserver
import struct
import threading
from typing import Any

import pyarrow as pa
import pymysql
import pytest

from seatunnel_connectors.jdbc.mysql.connection.session import MysqlSession, failure
from seatunnel_connectors.jdbc.url import resolve
from seatunnel_py.api import Batch, FatalError, RetriableError, TablePath, WriteContext, schema_from_arrow
from seatunnel_py.work.unit import Budget
from tests.connectors.jdbc.conftest import MariadbPlace, PostgresPlace
from tests.connectors.jdbc.copying import copy_tables, make_sink, make_source, same_rows
from tests.servers.ports import free_port

pytestmark = pytest.mark.mariadb

TYPES = (
    """CREATE TABLE a.types (
        id bigint PRIMARY KEY, flag tinyint(1), ti tinyint, tu tinyint unsigned, si smallint, su smallint unsigned,
        mi mediumint, i int, iu int unsigned, bi bigint, bu bigint unsigned, y year, f float, d double,
        d10 decimal(10, 2), d38 decimal(38, 10), b1 bit(1), b10 bit(10), ch char(5), vc varchar(10), tx text, js json,
        en enum('a', 'b'), st set('x', 'y'), bin4 binary(4), vb varbinary(10), bl blob, da date, t time, t6 time(6),
        dt datetime, dt6 datetime(6), ts timestamp NULL, u uuid)""",
    """INSERT INTO a.types VALUES
        (1, 1, -128, 255, -32768, 65535, -8388608, -2147483648, 4294967295, -9223372036854775808,
         18446744073709551615, 2024, 1.5, 2.5, 12.34, 1234567890123456789012345678.0123456789, b'1', b'1000000001', 'c',
         'v\\'"', 'tä\\t\\n\\\\x', '{"a":1}', 'a', 'x,y', 'ab', 'ab', x'000a5c09ff', '2024-02-29', '12:34:56',
         '23:59:59.123456', '2024-01-02 03:04:05', '2024-01-02 03:04:05.678901', '2024-01-02 03:04:05',
         'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'),
        (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1901, 0, -1e300, -99999999.99, -1, b'0', b'0', '', '', '\\\\N', 'null', 'b', '',
         '', '', '', '1000-01-01', '00:00:00', '00:00:00', '1000-01-01', '9999-12-31 23:59:59.999999', NULL, NULL)""",
    "INSERT INTO a.types (id) VALUES (2)",
)


def test_the_first_server_that_answers_is_taken(maria: MariadbPlace) -> None:
    """Of an address with several, for sessions and for the copy alike."""
    maria.run("CREATE TABLE a.t (id int PRIMARY KEY)", "INSERT INTO a.t VALUES (1), (2)")
    places = f"127.0.0.1:{free_port()},127.0.0.1:{maria.port}"
    both = {"url": f"jdbc:mariadb://{places}/{{}}?useSSL=false", "user": "root"}

    [copied] = copy_tables(
        {**both, "url": both["url"].format("a"), "table_path": "a.t"},
        {**maria.sink(table="t"), "url": both["url"].format("b")},
    )

    assert copied.rows == 2
    assert maria.rows("SELECT id FROM b.t ORDER BY id") == [(1,), (2,)]


def test_every_type_arrives_as_it_was(maria: MariadbPlace) -> None:
    maria.run(*TYPES)

    [copied] = copy_tables(maria.source(table_path="a.types"), maria.sink(table="types"))

    assert copied.rows == 3
    columns = [row[0] for row in maria.rows("SHOW COLUMNS FROM a.types")]
    hexed = ", ".join(
        f"HEX({name})" if name in ("bin4", "vb", "bl", "b10") else f"CAST({name} AS CHAR)" for name in columns
    )
    left, right = (maria.rows(f"SELECT {hexed} FROM {database}.types ORDER BY id") for database in "ab")
    for name, *values in zip(columns, *left, *right, strict=True):
        if name == "b10":  # bytes are two of them, where the bits were ten
            values = [value and value.lstrip("0") for value in values]
        if name == "u" or name == "b1":
            continue
        assert values[:3] == values[3:], name


def test_to_postgresql(maria: MariadbPlace, pg: PostgresPlace) -> None:
    maria.run(*TYPES)

    copy_tables(maria.source(table_path="a.types"), pg.sink(table="b.types"))

    found = pg.rows("SELECT flag, tu, su, iu, bu, y, d10, d38, b1, tx, bl, t6, dt6, u FROM b.types WHERE id = 1")[0]
    assert [str(value) for value in found] == [
        "True", "255", "65535", "4294967295", "18446744073709551615", "2024", "12.34",
        "1234567890123456789012345678.0123456789", "True", "tä\t\n\\x", str(b"\x00\n\\\t\xff"), "23:59:59.123456",
        "2024-01-02 03:04:05.678901", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
    ]  # fmt: skip
    key = pg.rows("SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'b.types'::regclass")
    assert key == [("PRIMARY KEY (id)",)]


def test_from_postgresql(maria: MariadbPlace, pg: PostgresPlace) -> None:
    pg.db.execute(
        "CREATE TABLE a.t (id bigint PRIMARY KEY, n numeric, u uuid, j jsonb, b bytea, t text, vc varchar(20), "
        "tsz timestamptz, a int[], f real, x boolean)"
    )
    pg.db.execute(
        """INSERT INTO a.t VALUES (1, 1.25, 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '{"a": [1]}', '\\x0009ff', 'x', 'ü',
           '2024-01-01 02:00:00+02', '{1,2}', 1.5, true), (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)"""
    )

    copy_tables(pg.source(table_path="a.t"), maria.sink(table="t"))

    assert maria.rows("SELECT id, CAST(n AS CHAR), u, j, b, t, vc, CAST(tsz AS CHAR), a, f, x FROM b.t ORDER BY id") == [
        (1, "1.25", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", '{"a": [1]}', b"\x00\x09\xff", "x", "ü",
         "2024-01-01 00:00:00.000000", "[1,2]", 1.5, 1),
        (2, None, None, None, None, None, None, None, None, None, None),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "dtype"), [("0000-00-00", "date"), ("0000-00-00 00:00:00", "datetime"), ("-838:59:59", "time")]
)
def test_what_has_no_counterpart_is_refused_by_column(maria: MariadbPlace, value: str, dtype: str) -> None:
    maria.run(
        "SET SESSION sql_mode = ''",
        f"CREATE TABLE a.t (id int PRIMARY KEY, x {dtype})",
        f"INSERT INTO a.t VALUES (1, '{value}')",
    )

    with pytest.raises(FatalError, match=f"column 'x' holds {value}"):
        copy_tables(maria.source(table_path="a.t"), maria.sink(table="t"))


def test_zero_dates_become_null_where_the_url_says_so(maria: MariadbPlace) -> None:
    maria.run(
        "SET SESSION sql_mode = ''",
        "CREATE TABLE a.t (id int PRIMARY KEY, x date NOT NULL)",
        "INSERT INTO a.t VALUES (1, '0000-00-00')",
    )
    options = maria.source(table_path="a.t")
    options["url"] += "&zeroDateTimeBehavior=convertToNull"

    copy_tables(options, maria.sink(table="t"))

    assert maria.rows("SELECT * FROM b.t") == [(1, None)]


# ---------------------------------------------------------------- reading


LETTERS = "CONCAT(IF(seq % 2, 'key ', 'KEY '), seq)"
"""Two cases, of which a collation makes one."""


@pytest.mark.parametrize(
    "key", ["seq", "seq * 1000003 % 999983 + seq * 1000000", "MD5(seq)", "'2000-01-01' + INTERVAL seq DAY", LETTERS]
)
def test_keys_are_divided_and_read_once(maria: MariadbPlace, key: str) -> None:
    """F-C41, F-C42: the server alone compares keys."""
    kinds = {"MD5": "char(32)", "'20": "date", "CON": "varchar(20) COLLATE utf8mb4_general_ci"}
    kind = kinds.get(key[:3], "bigint")
    maria.run(
        f"CREATE TABLE a.t (id {kind} PRIMARY KEY, n int)",
        f"INSERT INTO a.t SELECT {key}, seq FROM seq_1_to_20000", "ANALYZE TABLE a.t",
    )  # fmt: skip

    [copied] = copy_tables(maria.source(table_path="a.t", **{"split.size": 4000}), maria.sink(table="t"))

    assert len(copied.splits) >= 4
    same_rows(maria.rows("SELECT * FROM a.t"), maria.rows("SELECT * FROM b.t"))


def test_pages_and_budgets(maria: MariadbPlace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seatunnel_connectors.jdbc.mysql.read.reader.PAGE_ROWS", 3000)
    monkeypatch.setattr("seatunnel_connectors.jdbc.mysql.read.reader.BATCH_ROWS", 1000)
    maria.run("CREATE TABLE a.t (id int PRIMARY KEY)", "INSERT INTO a.t SELECT seq FROM seq_1_to_9000")

    [copied] = copy_tables(maria.source(table_path="a.t"), maria.sink(table="t"), budget=Budget(rows=2000))

    assert len(copied.results) >= 4
    assert maria.rows("SELECT count(*), sum(id) FROM b.t") == [(9000, 9000 * 9001 // 2)]


def test_queries_patterns_and_composite_keys(maria: MariadbPlace) -> None:
    maria.run(
        "CREATE TABLE a.t1 (a int, b varchar(10), v int, PRIMARY KEY (b, a))", "INSERT INTO a.t1 SELECT seq, CONCAT('k', seq % 7), seq FROM seq_1_to_100",
        "CREATE TABLE a.t2 LIKE a.t1",
    )  # fmt: skip

    copied = copy_tables(
        maria.source(table_path=r"a\.t\d", use_regex=True, where_condition="where v > 10"), maria.sink(table="{table}")
    )
    copy_tables(
        maria.source(query="SELECT b, sum(v) AS s, max(v) / 3 AS third FROM a.t1 GROUP BY b"), maria.sink(table="q")
    )

    assert [one.rows for one in copied] == [90, 0]
    assert maria.rows("SELECT count(*), sum(s) FROM b.q") == [(7, 5050)]
    assert len(maria.rows("SHOW INDEX FROM b.t1")) == 2


def test_problems_of_all_tables_come_together(maria: MariadbPlace) -> None:
    maria.run("CREATE TABLE a.one (id int)")

    with pytest.raises(FatalError) as error:
        make_source(
            maria.source(
                table_list=[
                    {"table_path": "a.ones"},
                    {"table_path": "c.x"},
                    {"table_path": "q", "query": "SELECT nope"},
                ]
            )
        ).tables()

    for words in ("a.ones", "did you mean a.one?", "c.x", "no database 'c'", "nope"):
        assert words in str(error.value)


# ---------------------------------------------------------------- writing

SCHEMA = schema_from_arrow(TablePath("", "", "t"), pa.schema([pa.field("id", pa.int64()), ("s", pa.string())]))


def batch(rows: list[tuple[str, int, str]]) -> Batch:
    kinds = pa.array([("+I", "-U", "+U", "-D").index(kind) for kind, _, _ in rows], pa.uint8())
    data = pa.record_batch([[row[1] for row in rows], [row[2] for row in rows]], schema=SCHEMA.arrow())
    return Batch(SCHEMA.path, data, kinds=kinds)


def write(sink: Any, rows: list[tuple[str, int, str]], **context: Any) -> Any:
    setup = sink.plan_setup()
    sink.setup(setup)
    writer = sink.open(WriteContext("j", "l", "s", "x", setup=setup.data, **context))
    writer.write(batch(rows))
    return writer.stage()


@pytest.mark.parametrize("local_infile", [1, 0])
def test_updates_and_deletes_by_key(maria: MariadbPlace, local_infile: int) -> None:
    maria.run(f"SET GLOBAL local_infile = {local_infile}")
    sink, _ = make_sink(maria.sink(table="t", primary_keys=["id"]), SCHEMA)

    write(sink, [("+I", 1, "a"), ("+I", 2, "b"), ("-U", 1, "a"), ("+U", 1, "c"), ("-D", 2, "b"), ("+I", 3, "d")])
    write(
        make_sink(maria.sink(table="t", primary_keys=["id"]), SCHEMA)[0],
        [("+I", 3, "e"), ("+I", 4, "x\\"), ("+I", 3, "f")],
    )

    assert maria.rows("SELECT * FROM b.t ORDER BY id") == [(1, "c"), (3, "f"), (4, "x\\")]


def test_nothing_is_cut_or_skipped_silently(maria: MariadbPlace) -> None:
    maria.run("CREATE TABLE b.t (id bigint PRIMARY KEY, s varchar(3))", "INSERT INTO b.t VALUES (2, 'old')")
    sink, _ = make_sink(maria.sink(table="t", primary_keys=["id"], enable_upsert=False), SCHEMA)

    with pytest.raises(FatalError, match="Data too long for column 's'"):
        write(sink, [("+I", 1, "ok"), ("+I", 3, "too long")])
    with pytest.raises(FatalError, match="Duplicate entry '2'"):
        write(sink, [("+I", 1, "ok"), ("+I", 2, "new")])
    upserting, _ = make_sink(maria.sink(table="t", primary_keys=["id"]), SCHEMA)
    with pytest.raises(FatalError, match="Data too long for column 's'|truncated for column 's'"):
        write(upserting, [("+I", 2, "too long")])

    assert maria.rows("SELECT * FROM b.t") == [(2, "old")]


def test_a_second_attempt_at_committed_rows_applies_nothing(maria: MariadbPlace) -> None:
    sink, _ = make_sink(maria.sink(table="t"), SCHEMA)
    setup = sink.plan_setup()
    sink.setup(setup)
    pieces = []
    for attempt in (0, 1, 0):
        writer = sink.open(WriteContext("j", "l", "s", "x", attempt=attempt, setup=setup.data))
        writer.write(batch([("+I", 1, "a"), ("+I", 2, "b")]))
        pieces.append(writer.stage())

    assert [(piece.rows, piece.data["replayed"]) for piece in pieces] == [(2, False), (2, True), (2, True)]
    assert maria.rows("SELECT count(*) FROM b.t") == [(2,)]


def test_save_modes(maria: MariadbPlace) -> None:
    maria.run(
        "CREATE TABLE a.t (id int PRIMARY KEY, s text)",
        "INSERT INTO a.t VALUES (0, 'x')",
        "CREATE TABLE b.t LIKE a.t",
        "INSERT INTO b.t VALUES (9, 'old')",
    )

    with pytest.raises(FatalError, match="holds rows"):
        copy_tables(maria.source(table_path="t"), maria.sink(table="t", data_save_mode="ERROR_WHEN_DATA_EXISTS"))
    copy_tables(maria.source(table_path="t"), maria.sink(table="t"))
    assert maria.rows("SELECT id FROM b.t ORDER BY id") == [(0,), (9,)]
    copy_tables(maria.source(table_path="t"), maria.sink(table="t", data_save_mode="DROP_DATA"))
    assert maria.rows("SELECT id FROM b.t") == [(0,)]
    maria.run("ALTER TABLE b.t ADD COLUMN must int NOT NULL")
    with pytest.raises(FatalError, match="'must'"):
        copy_tables(maria.source(table_path="t"), maria.sink(table="t"))
    copy_tables(maria.source(table_path="t"), maria.sink(table="t", schema_save_mode="RECREATE_SCHEMA"))
    assert maria.rows("SELECT * FROM b.t") == [(0, "x")]


def test_a_server_that_asks_for_a_file_gets_none(tmp_path: Any) -> None:
    """A rogue server answers the first statement by asking for a file of the client's machine."""
    secret = tmp_path / "secret"
    secret.write_text("secret text")
    received: list[bytes] = []

    class Rogue(socketserver.BaseRequestHandler):
        def packet(self, number: int, payload: bytes) -> None:
            self.request.sendall(struct.pack("<I", len(payload))[:3] + bytes([number]) + payload)

        def take(self) -> tuple[int, bytes]:
            head = b""
            while len(head) < 4:
                part = self.request.recv(4 - len(head))
                if not part:
                    raise ConnectionError
                head += part
            size, body = int.from_bytes(head[:3], "little"), b""
            while len(body) < size:
                body += self.request.recv(size - len(body))
            return head[3], body

        def handle(self) -> None:
            greeting = b"\x0a5.7.0\x00" + struct.pack("<I", 1) + b"a" * 8 + b"\x00" + struct.pack("<H", 0xF7FF)
            greeting += (
                b"\x21"
                + struct.pack("<HH", 2, 0x8FFF)
                + b"\x15"
                + b"\x00" * 10
                + b"a" * 12
                + b"\x00mysql_native_password\x00"
            )
            self.packet(0, greeting)
            self.take()
            self.packet(2, b"\x00\x00\x00\x02\x00\x00\x00")
            while b"sql_mode" not in self.take()[1]:
                self.packet(1, b"\x00\x00\x00\x02\x00\x00\x00")
            self.packet(1, b"\xfb" + str(secret).encode())
            number, body = self.take()
            received.append(body)
            self.packet(number + 1, b"\x00\x00\x00\x02\x00\x00\x00")

    with socketserver.TCPServer(("127.0.0.1", 0), Rogue) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        address = resolve(f"jdbc:mysql://127.0.0.1:{server.server_address[1]}/x", "root", None, {})
        with pytest.raises(FatalError, match="asked for a file"):
            MysqlSession(address)

    assert received == [b""]


def test_a_counter_that_somebody_holds_may_be_free_later() -> None:
    """A stopped driver's statement holds the lock of AUTO_INCREMENT; the server calls that a failed read."""
    held = pymysql.err.OperationalError(1467, "Failed to read auto-increment value from storage engine")

    assert isinstance(failure(held, "writing"), RetriableError)


def test_a_connection_that_was_lost_before_is_retried() -> None:
    """PyMySQL has no text and no number for it; the log of a restarted server was isolated."""
    lost = failure(pymysql.err.InterfaceError(0, ""), "looking up the log")
    assert isinstance(lost, RetriableError)
    assert lost.message == "looking up the log: the connection is closed"
