"""``seatunnel reconcile`` on real servers: equal after a copy, and each planted difference by key and column."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pymysql
import pytest

from e2e.conftest import Databases
from e2e.support import IN_PROCESS, Finished, finish, seatunnel, start, write_job
from tests.servers.mariadb import MariadbServer

ODD = """
    CREATE TABLE odd (
        id int PRIMARY KEY, big bigint, small smallint, yes boolean, simple real, double_ double precision,
        amount numeric(38, 10), wide numeric, day date, clock time, moment timestamp, instant timestamptz,
        note text, code varchar(20), padded char(6), raw bytea, document jsonb, tags text[], numbers int[],
        identity uuid, address inet, zoned timetz
    );
    INSERT INTO odd VALUES
        (1, 9223372036854775807, -32768, true, 'NaN', 'NaN', 9999999999999999999999999999.0123456789,
         123456789012345678901234567890123456789012345678901234567890.5, '0044-03-15', '23:59:59.999999',
         '2026-11-27 01:02:03.000001', '2026-11-27 01:02:03.5+05:30', 'Grüße 😀', 'ß', 'ab', '\\x00ff00', '{"a": [1, 2.50]}',
         '{a,NULL,"b,c"}', '{1,NULL,-3}', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '10.0.0.0/8', '12:00:00+02'),
        (2, -9223372036854775808, 32767, false, '-0', '-0', -0.0000000001, -0.000000000000000000000000000001,
         '9999-12-31', '00:00:00', '9999-12-31 23:59:59.999999', '1000-01-01 00:00:00+00', '', '', '', '', '{}', '{}',
         '{}', '00000000-0000-0000-0000-000000000000', '::1', '00:00:00-12'),
        (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
         NULL, NULL, NULL),
        (4, 0, 0, true, 3.4e38, 5e-324, 1.5000000000, 1.50, '1970-01-01', '12:34', '1970-01-01', '1970-01-01+00',
         'A', 'a ', ' x', 'bytes', '[null, "\\u00e9"]', '{"",NULL}', '{2147483647}',
         'ffffffff-ffff-ffff-ffff-ffffffffffff', '1.2.3.4', '12:34:56.789+00');
"""
EVERYWHERE = "id, big, small, yes, amount, wide, day, clock, moment, instant, note, code, raw, document, tags, identity"
"""Columns whose values each target can hold."""


@pytest.fixture(scope="module")
def mariadb() -> Iterator[MariadbServer]:
    with MariadbServer.running() as server:
        yield server


def compared(home: Path, *more: str) -> Finished:
    return seatunnel(home, "reconcile", "job.conf", *more)


def copied(home: Path, source: str, sink: str, between: str = "") -> None:
    write_job(home, f"source {{ Jdbc {{ {source} }} }}\ntransform {{ {between} }}\nsink {{ Jdbc {{ {sink} }} }}")
    ended = finish(start(home, "run", "job.conf", program=IN_PROCESS))
    assert ended.code == 0, ended.out + ended.err


def into_postgres(databases: Databases, table: str = "public.${table_name}") -> str:
    return f'{databases.jdbc(databases.target)}, generate_sink_sql = true, table = "{table}"'


def into_mariadb(server: MariadbServer, table: str = "${table_name}") -> str:
    return f'url = "{server.jdbc_url()}", user = root, generate_sink_sql = true, table = "{table}"'


def run_there(server: MariadbServer, *statements: str) -> None:
    with pymysql.connect(**server.connection(), charset="utf8mb4", autocommit=True) as db, db.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def differences(ended: Finished) -> dict[Any, Any]:
    """By key: the kind, or both values of each column."""
    return {
        tuple(one["key"].values()): {c["column"]: (c["source"], c["target"]) for c in one["columns"]} or one["kind"]
        for table in json.loads(ended.out)["tables"]
        for one in table["differences"]
    }


def test_odd_values_are_equal_after_a_copy_between_postgres_servers(tmp_path: Path, databases: Databases) -> None:
    with databases.connect(databases.source) as db:
        db.execute(ODD.encode())
    copied(tmp_path, f"{databases.jdbc(databases.source)}, table_path = public.odd", into_postgres(databases))

    ended = compared(tmp_path)

    assert ended.code == 0, ended.out + ended.err
    assert ended.out.splitlines()[-1] == "compared 4 rows of 1 table; 0 differ"
    with databases.connect(databases.target) as db:
        db.execute(b"UPDATE odd SET wide = wide + 1e-30, tags = '{a,NULL,b}', simple = 1 WHERE id = 1")
        db.execute(b"UPDATE odd SET raw = '\\x00', zoned = '00:00:00-11', clock = '00:00:00.000001' WHERE id = 2")
        db.execute(b"UPDATE odd SET note = '', document = 'null' WHERE id = 3")
        db.execute(b"UPDATE odd SET wide = 1.5, amount = 1.5000000001, code = 'a' WHERE id = 4")  # 1.5 equals 1.50

    ended = compared(tmp_path, "--json")

    assert ended.code == 1
    assert {key: set(columns) for key, columns in differences(ended).items()} == {
        (1,): {"wide", "tags", "simple"},
        (2,): {"raw", "zoned", "clock"},
        (3,): {"note", "document"},
        (4,): {"amount", "code"},
    }


@pytest.mark.parametrize("target", ["mariadb", "sqlite"])
def test_odd_values_are_equal_after_a_copy_elsewhere(
    tmp_path: Path, databases: Databases, mariadb: MariadbServer, target: str
) -> None:
    """Each in the form that the type contract gives it there."""
    with databases.connect(databases.source) as db:
        db.execute(ODD.encode())
        db.execute(f"CREATE TABLE values_ AS SELECT {EVERYWHERE}, simple, double_ FROM odd WHERE id > 1".encode())
        db.execute(b"UPDATE values_ SET day = '2026-02-28' WHERE day IS NOT NULL")
        db.execute(b"ALTER TABLE values_ ADD PRIMARY KEY (id)")
    run_there(mariadb, "DROP TABLE IF EXISTS values_")
    here = into_mariadb(mariadb) if target == "mariadb" else 'url = "jdbc:sqlite:there.db", generate_sink_sql = true'
    copied(tmp_path, f"{databases.jdbc(databases.source)}, table_path = public.values_", here)

    ended = compared(tmp_path)

    assert (ended.code, ended.out.splitlines()[-1]) == (0, "compared 3 rows of 1 table; 0 differ"), ended.out


def test_values_of_mariadb_are_equal_in_postgres(tmp_path: Path, databases: Databases, mariadb: MariadbServer) -> None:
    run_there(
        mariadb,
        "DROP TABLE IF EXISTS odd",
        """CREATE TABLE odd (id INT UNSIGNED PRIMARY KEY, yes TINYINT(1), big BIGINT UNSIGNED, amount DECIMAL(65, 30),
               simple FLOAT, double_ DOUBLE, day DATE, clock TIME(6), moment DATETIME(6), instant TIMESTAMP(6) NULL,
               note TEXT CHARACTER SET utf8mb4, padded CHAR(5), raw VARBINARY(20), kind ENUM('a', 'b'), some SET('x', 'y'), document JSON,
               bits BIT(9), year_ YEAR)""",
        """INSERT INTO odd VALUES
               (4294967295, 1, 18446744073709551615, 99999999999999999999999999999999999.000000000000000000000000000001,
                1.5e-38, 1e308, '2026-02-28', '23:59:59.999999', '2026-11-27 01:02:03.000001',
                '2026-11-27 01:02:03.000001', 'Grüße 😀', 'ab ', x'00ff00', 'b', 'x,y', '{"a": 1.50}', b'100000001',
                2026),
               (0, 0, 0, 0, 0, 0, '1000-01-01', '00:00:00', '1000-01-01 00:00:00', NULL, '', '', '', 'a', '', '[]',
                b'0', 1901)""",
    )
    source = f'url = "{mariadb.jdbc_url()}", user = root, table_path = "test.odd"'
    copied(tmp_path, source, into_postgres(databases))

    ended = compared(tmp_path)

    assert (ended.code, ended.out.splitlines()[-1]) == (0, "compared 2 rows of 1 table; 0 differ"), ended.out
    with databases.connect(databases.target) as db:
        db.execute(b"UPDATE odd SET amount = amount + 1e-30 WHERE id > 0")
    ended = compared(tmp_path, "--json")
    assert {key: set(columns) for key, columns in differences(ended).items()} == {(4294967295,): {"amount"}}


@pytest.fixture
def people(tmp_path: Path, databases: Databases, mariadb: MariadbServer) -> Databases:
    """A table with a key of two columns, of which one is a text, copied from PostgreSQL to MariaDB, renamed on the
    way."""
    with databases.connect(databases.source) as db:
        db.execute(b'CREATE TABLE people (land text COLLATE "C", number int, name text, PRIMARY KEY (land, number))')
        db.execute(
            b"INSERT INTO people SELECT l, n, l || n FROM unnest('{Z,a,B,\xc3\xa4}'::text[]) l, generate_series(1, 3000) n"
        )
    run_there(mariadb, "DROP TABLE IF EXISTS folk")
    copied(
        tmp_path,
        f"{databases.jdbc(databases.source)}, table_path = public.people, split.size = 1000",
        f"{into_mariadb(mariadb, 'folk')}, data_save_mode = DROP_DATA",
        "FieldRename { specific = [{ field_name = name, target_name = called }] }",
    )
    return databases


def test_every_kind_of_difference_is_found_by_key_and_column(
    tmp_path: Path, people: Databases, mariadb: MariadbServer
) -> None:
    """The order of the keys is another one in each database: ``ä`` and ``a``, ``B`` and ``a`` change places."""
    assert compared(tmp_path).code == 0
    run_there(
        mariadb,
        "DELETE FROM folk WHERE land = 'ä' AND number IN (7, 3000)",
        "UPDATE folk SET called = upper(called) WHERE land = 'a' AND number = 1",
        "UPDATE folk SET called = NULL WHERE land = 'B' AND number = 5",
        "INSERT INTO folk VALUES ('z', 1, 'surplus')",
    )
    with people.connect(people.source) as db:
        db.execute(b"UPDATE people SET number = 4000 WHERE land = 'Z' AND number = 9")  # as if the log had lost it

    ended = compared(tmp_path, "--json")

    assert ended.code == 1
    assert differences(ended) == {
        ("ä", 7): "missing",
        ("ä", 3000): "missing",
        ("a", 1): {"called": ("a1", "A1")},
        ("B", 5): {"called": ("B5", None)},
        ("z", 1): "surplus",
        ("Z", 9): "surplus",
        ("Z", 4000): "missing",
    }
    [table] = json.loads(ended.out)["tables"]
    assert table["counts"] == {"missing": 3, "surplus": 2, "different": 2} and table["by_key"] == ["land", "number"]

    ended = compared(tmp_path, "--limit", "1")
    assert "… and 6 more; --limit shows them" in ended.out
    assert ended.out.splitlines()[-1] == "compared 12,000 rows of 1 table; 7 differ"

    ended = compared(tmp_path, "--where", "land = 'a' AND number < 10", "--json")
    assert differences(ended) == {("a", 1): {"called": ("a1", "A1")}}
    assert json.loads(ended.out)["rows"] == 9


def test_nothing_is_written_anywhere(tmp_path: Path, people: Databases, mariadb: MariadbServer) -> None:
    """Neither to the source, nor to the target, nor to the state of jobs."""

    def written() -> object:
        with people.connect(people.source) as db:
            found = db.execute(
                "SELECT sum(n_tup_ins + n_tup_upd + n_tup_del), (SELECT count(*) FROM pg_class),"
                " (SELECT count(*) FROM pg_replication_slots) FROM pg_stat_user_tables"
            ).fetchone()
        with pymysql.connect(**mariadb.connection()) as db, db.cursor() as cursor:
            cursor.execute("SHOW GLOBAL STATUS WHERE variable_name IN ('Com_insert', 'Com_create_table', 'Com_update')")
            return found, cursor.fetchall(), {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}

    before = written()
    assert compared(tmp_path).code == 0
    assert written() == before


def test_a_table_that_cannot_be_compared_is_named_and_is_no_success(tmp_path: Path, databases: Databases) -> None:
    with databases.connect(databases.source) as db:
        db.execute(b"CREATE TABLE orders (id int PRIMARY KEY, note text)")
        db.execute(b"CREATE TABLE visits (page text)")
        db.execute(b"INSERT INTO orders VALUES (1, 'a')")
        db.execute(b"INSERT INTO visits VALUES ('a'), ('a'), ('b')")
    source = f'source {{ Jdbc {{ {databases.jdbc(databases.source)}, table_path = "public..*", use_regex = true, plugin_output = all }} }}'
    sinks = f"""sink {{
        Jdbc {{ plugin_input = all, {into_postgres(databases)} }}
        Console {{ plugin_input = all }}
        Jdbc {{ plugin_input = all, {databases.jdbc(databases.target)}, query = "INSERT INTO other VALUES (?)" }}
    }}"""
    write_job(tmp_path, f"{source}\n{sinks}")
    with databases.connect(databases.target) as db:
        db.execute(b"CREATE TABLE visits (page text)")
        db.execute(b"INSERT INTO visits VALUES ('b'), ('a'), ('a')")

    ended = compared(tmp_path)

    assert ended.code == 3, ended.out + ended.err
    lines = ended.out.splitlines()
    assert lines[-1] == "compared 3 rows of 1 table; 0 differ; 5 tables not compared"
    assert any("visits" in line and "equal (3 rows); compared as whole rows" in line for line in lines)
    assert any("orders" in line and "not compared" in line and "does not exist" in line for line in lines)
    assert sum("not compared: the sink cannot be read back" in line for line in lines) == 4

    with databases.connect(databases.target) as db:
        db.execute(b"INSERT INTO visits VALUES ('a')")
    ended = compared(tmp_path, "--table", "visits")
    assert ended.code == 1
    assert "surplus in the target: page = 'a' (2 times in the source, 3 in the target)" in ended.out


def test_transforms_are_repeated_or_refused_by_name(tmp_path: Path, databases: Databases) -> None:
    with databases.connect(databases.source) as db:
        db.execute(b"CREATE TABLE orders (id int PRIMARY KEY, note text, secret text)")
        db.execute(b"INSERT INTO orders SELECT i, 'n' || i, 's' FROM generate_series(1, 50) i")
    source = f"{databases.jdbc(databases.source)}, table_path = public.orders"
    between = """Filter { plugin_input = a, plugin_output = b, exclude_fields = [secret] }
                 Replace { plugin_input = b, plugin_output = c, replace_field = note, pattern = n, replacement = m }"""
    copied(tmp_path, f"{source}, plugin_output = a", f"{into_postgres(databases)}, plugin_input = c", between)
    assert compared(tmp_path).code == 0
    with databases.connect(databases.target) as db:
        db.execute(b"UPDATE orders SET note = 'n9' WHERE id = 9")
    ended = compared(tmp_path, "--json")
    assert differences(ended) == {(9,): {"note": ("m9", "n9")}}

    random = 'FieldEncrypt { fields = [note], algorithm = AES_GCM, key = "0123456789abcdef0123456789abcdef" }'
    write_job(
        tmp_path,
        f"source {{ Jdbc {{ {source} }} }}\ntransform {{ {random} }}\nsink {{ Jdbc {{ {into_postgres(databases)} }} }}",
    )
    ended = compared(tmp_path)
    assert ended.code in (2, 3) and "0123456789abcdef" not in ended.out + ended.err
    assert "FieldEncrypt" in ended.out + ended.err


def test_several_tables_in_one_target_are_compared_together(tmp_path: Path, databases: Databases) -> None:
    """Two shards flow into one table; a row of each is lost."""
    with databases.connect(databases.source) as db:
        for shard in (0, 1):
            db.execute(f"CREATE TABLE shard{shard} (id int PRIMARY KEY, note text)".encode())
            db.execute(f"INSERT INTO shard{shard} SELECT i * 2 + {shard}, 'x' FROM generate_series(1, 100) i".encode())
    source = f'{databases.jdbc(databases.source)}, table_path = "public.shard.", use_regex = true'
    copied(tmp_path, source, into_postgres(databases, "public.whole"), "TableMerge { table = whole }")
    ended = compared(tmp_path)
    assert ended.code == 0, ended.out + ended.err
    assert (ended.code, ended.out.splitlines()[-1]) == (0, "compared 200 rows of 1 table; 0 differ"), ended.out
    with databases.connect(databases.target) as db:
        db.execute(b"DELETE FROM whole WHERE id IN (20, 21)")
    assert differences(compared(tmp_path, "--json")) == {(20,): "missing", (21,): "missing"}


def test_a_wrong_job_file_or_server_is_said_before_anything(tmp_path: Path, databases: Databases) -> None:
    write_job(tmp_path, "source { Jdbc { tabel_path = x } }\nsink { Console {} }")
    ended = compared(tmp_path)
    assert ended.code == 2 and "tabel_path" in ended.out + ended.err
    with psycopg.connect(databases.server.dsn_of(databases.source), autocommit=True) as db:
        db.execute("CREATE TABLE orders (id int PRIMARY KEY)")
    source = f"{databases.jdbc(databases.source)}, table_path = public.orders"
    copied(tmp_path, source, f"{into_postgres(databases)}, password = geheim4711")
    ended = compared(tmp_path, "--where", "id = 1; DROP TABLE orders")
    assert ended.code == 3 and "geheim4711" not in ended.out + ended.err and "--where" in ended.out


def test_a_server_that_is_away_is_no_difference(tmp_path: Path, databases: Databases) -> None:
    """Exit code 1 means differences, so a source or target that cannot be asked has another one."""
    with databases.connect(databases.source) as db:
        db.execute(b"CREATE TABLE orders (id int PRIMARY KEY)")
    source = f"{databases.jdbc(databases.source)}, table_path = public.orders"
    copied(tmp_path, source, into_postgres(databases))
    path = tmp_path / "job.conf"
    working = path.read_text()
    port = f":{databases.server.port}/"

    path.write_text(working.replace(f"{port}{databases.target}", f":1/{databases.target}"))
    ended = compared(tmp_path)
    assert ended.code == 3 and "orders" in ended.out and "not compared" in ended.out, ended.out + ended.err
    path.write_text(working.replace(f"{port}{databases.source}", f":1/{databases.source}"))
    ended = compared(tmp_path, "--json")
    assert ended.code == 3 and json.loads(ended.out)["state"] == "FAILED", ended.out + ended.err
    path.write_text(working)
    ended = compared(tmp_path, "--job-id", "unknown")
    assert ended.code == 3 and "unknown" in ended.err
    assert compared(tmp_path).code == 0


def test_the_commands_of_the_page_run(tmp_path: Path) -> None:
    root = Path(__file__).parents[1]
    subprocess.run([sys.executable, root / "configs/demo/make_shop.py", tmp_path / "demo"], check=True)
    page = (root / "docs/how-to/compare.md").read_text()
    for command in page.partition("```sh\n")[2].partition("```")[0].splitlines():
        program, *words = shlex.split(command)
        ended = finish(start(tmp_path, *words, program=IN_PROCESS))
        assert program == "seatunnel" and ended.code == 0, ended.out + ended.err
    *tables, last = ended.out.splitlines()
    assert len(tables) == 5 and all(": equal (" in line for line in tables)
    assert last.endswith(" rows of 5 tables; 0 differ")
