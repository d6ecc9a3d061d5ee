"""The Redis plugin of a third party, tried on a real server: by the kit, and by jobs with the options of SeaTunnel."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from seatunnel_redis import RedisSink, RedisSource

from seatunnel_py.testing import JobRun, SinkTarget, SourceTarget, check_sink, check_source, run_job
from tests.servers.ports import free_port
from tests.servers.redis import RedisServer

PEOPLE = [{"id": n, "name": f"person {n}"} for n in range(1, 26)]


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with RedisServer.running() as running:
        yield running


@pytest.fixture
def client(server: RedisServer) -> Iterator[Any]:
    with redis.Redis("127.0.0.1", server.port, decode_responses=True) as made:
        made.flushall()
        yield made


def run(server: RedisServer, text: str) -> JobRun:
    return run_job(
        text.replace("Redis {", f"Redis {{ host = 127.0.0.1, port = {server.port},"), [RedisSource, RedisSink]
    )


def written(server: RedisServer, options: str) -> None:
    rows = ", ".join(json.dumps({"kind": "INSERT", "fields": [one["id"], one["name"]]}) for one in PEOPLE)
    source = f"FakeSource {{ schema {{ fields {{ id = bigint, name = string }} }}, rows = [{rows}] }}"
    done = run(server, f"source {{ {source} }}\nsink {{ Redis {{ {options} }} }}")
    assert done.receipt.exit_code == 0, done.traces


def read(server: RedisServer, options: str, fields: str = "id = bigint, name = string") -> list[tuple[Any, ...]]:
    schema = f", schema {{ fields {{ {fields} }} }}" if fields else ""
    done = run(server, f"source {{ Redis {{ {options} {schema} }} }}\nsink {{ Collect {{}} }}")
    assert done.receipt.exit_code == 0, done.traces
    return [row for rows in done.rows.values() for row in rows]


def test_the_plugin_is_small() -> None:
    """Bar 7: it imports our API and formats, in at most 200 lines."""
    text = Path(__file__).with_name("seatunnel_redis.py").read_text()

    assert len([line for line in text.splitlines() if line.strip()]) <= 200
    assert {
        line.split()[1] for line in text.splitlines() if "import" in line and "seatunnel" in line and '"' not in line
    } == {
        "seatunnel_py",
        "seatunnel_py.formats",
    }


@pytest.mark.parametrize("kind", ["key", "hash", "set", "zset", "list"])
def test_the_sink_passes_the_kit(server: RedisServer, client: Any, kind: str) -> None:
    def fresh(number: int) -> SinkTarget:
        name = f"{kind}{number}"
        custom = {"key": f"{name}:{{id}}", "support_custom_key": True} if kind == "key" else {"key": name}
        of_hash = {"hash_key_field": "id"} if kind == "hash" else {}

        def rows() -> list[tuple[Any, ...]]:
            texts = {
                "key": lambda: [client.get(one) for one in client.keys(f"{name}:*")],
                "hash": lambda: client.hvals(name),
                "set": lambda: client.smembers(name),
                "zset": lambda: client.zrange(name, 0, -1),
                "list": lambda: client.lrange(name, 0, -1),
            }[kind]()
            return [tuple(json.loads(text).values()) for text in texts]

        options = {"host": "127.0.0.1", "port": server.port, "data_type": kind, **custom, **of_hash}
        return SinkTarget(RedisSink(), options, rows, names=("id", "two words", 'quo"te', "semi;colon--"))

    report = check_sink(fresh)

    assert not report.broken, report.text


@pytest.mark.parametrize("kind", ["key", "list", "set", "zset"])
def test_the_source_passes_the_kit(server: RedisServer, client: Any, kind: str) -> None:
    for n, person in enumerate(PEOPLE):
        text = json.dumps(person)
        match kind:
            case "key":
                client.set(f"k{n}", text)
            case "list":
                client.rpush(f"k{n % 3}", text)
            case "set":
                client.sadd(f"k{n % 3}", text)
            case _:
                client.zadd(f"k{n % 3}", {text: n})
    options = {
        "host": "127.0.0.1", "port": server.port, "keys": "k*", "data_type": kind,
        "schema": {"fields": {"id": "bigint", "name": "string"}},
    }  # fmt: skip

    report = check_source(SourceTarget(RedisSource(), options, lambda: [(one["id"], one["name"]) for one in PEOPLE]))

    assert not report.broken, report.text


@pytest.mark.parametrize("kind", ["key", "set", "zset", "list"])
@pytest.mark.parametrize("form", ["json", "text", "csv"])
def test_rows_come_back_equal(server: RedisServer, client: Any, kind: str, form: str) -> None:
    key = "id" if kind == "key" else "all"
    written(server, f"key = {key}, data_type = {kind}, format = {form}")

    found = read(server, f'keys = "*", data_type = {kind}, format = {form}')

    assert sorted(found) == [(one["id"], one["name"]) for one in PEOPLE]


def test_a_hash_is_a_row_or_many(server: RedisServer, client: Any) -> None:
    written(server, 'key = "person:{id}", support_custom_key = true, data_type = hash')
    assert client.hgetall("person:7") == {"id": "7", "name": "person 7"}
    assert sorted(read(server, 'keys = "person:*", data_type = HASH')) == [(one["id"], one["name"]) for one in PEOPLE]

    written(server, "key = all, data_type = hash, hash_key_field = name")
    found = read(server, "keys = all, data_type = hash, hash_key_parse_mode = kv", "who = string, id = bigint")
    assert sorted(found, key=lambda row: row[1]) == [(one["name"], one["id"]) for one in PEOPLE]


def test_the_options_of_values_and_keys(server: RedisServer, client: Any) -> None:
    """value_field, expire, db_num, read_key_enabled, and rows without a schema."""
    written(server, "key = id, data_type = string, value_field = name, expire = 100, db_num = 3")
    assert client.keys("*") == []
    with redis.Redis("127.0.0.1", server.port, 3, decode_responses=True) as third:
        assert (third.get("7"), 0 < third.ttl("7") <= 100) == ("person 7", True)

    found = read(server, 'keys = "1*", data_type = key, db_num = 3, read_key_enabled = true', "")

    assert sorted(found) == sorted((str(n), f"person {n}") for n in (1, *range(10, 20)))


def test_a_login_is_needed_and_never_shown(server: RedisServer, client: Any) -> None:
    client.acl_setuser("reader", enabled=True, passwords=["+hidden-word"], keys=["*"], commands=["+@all"])
    client.set("k", "v")

    assert read(server, "keys = k, data_type = key, user = reader, auth = hidden-word", "") == [("v",)]
    refused = run(
        server, "source { Redis { keys = k, data_type = key, user = reader, auth = wrong-word } }\nsink { Collect {} }"
    )
    assert refused.receipt.exit_code
    assert "refuses the login" in str(refused.receipt)
    assert "wrong-word" not in str(refused.receipt) + "".join(refused.traces)


def test_a_type_that_the_key_has_not_is_named(server: RedisServer, client: Any) -> None:
    client.rpush("k", "v")

    failed = run(server, "source { Redis { keys = k, data_type = key } }\nsink { Collect {} }")

    assert "`data_type` is that of the keys" in str(failed.receipt)


def test_a_cluster() -> None:
    """Of one node, with all slots."""
    with (
        RedisServer.running(settings={"cluster-enabled": "yes", "cluster-port": str(free_port())}) as node,
        redis.Redis("127.0.0.1", node.port) as admin,
    ):
        admin.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
        while b"cluster_state:ok" not in admin.execute_command("CLUSTER", "INFO", NEVER_DECODE=True):
            pass
        place = f'mode = cluster, nodes = ["127.0.0.1:{node.port}"], data_type = key'
        text = f'source {{ Redis {{ {place}, keys = "*" }} }}\nsink {{ Redis {{ {place}, key = content, value_field = content }} }}'
        admin.set("first", "second")

        done = run_job(text, [RedisSource, RedisSink])

        assert done.receipt.exit_code == 0, done.traces
        assert admin.get("second") == b"second"
