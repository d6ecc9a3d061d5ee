"""Protobuf through Kafka and the public command line: rows there and back, bad messages set aside, mistakes at the plan."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from e2e.kafka_support import send
from e2e.support import IN_PROCESS, finish, seatunnel, start, write_job
from tests.connectors.kafka.sink_support import records
from tests.servers.kafka import KafkaServer

ROWS = 5_000
MESSAGE = '''
    format = protobuf, protobuf_message_name = Order
    protobuf_schema = """
      syntax = "proto3";
      package shop.v1;
      message Order { int64 id = 1; optional string name = 2; Line line = 3; }
      message Line { uint32 count = 1; repeated string tags = 2; }
    """'''


def kafka_block(server: KafkaServer, topic: str, more: str = "") -> str:
    return f'Kafka {{ bootstrap.servers = "{server.dsn}", topic = "{topic}", {more} {MESSAGE} }}'


@pytest.mark.spark
def test_rows_go_there_and_come_back(tmp_path: Path, kafka: KafkaServer) -> None:
    """And of three messages that are none the job allows as many, and keeps them as they came."""
    fields = 'id = bigint, name = string, line = { count = int, tags = "array<string>" }'
    there = f"""
        source {{ FakeSource {{ row.num = {ROWS}, bigint.min = 0, int.min = 0, schema {{ fields {{ {fields} }} }} }} }}
        sink {{ {kafka_block(kafka, "orders", "semantics = EXACTLY_ONCE,")} }}"""
    write_job(tmp_path, there)
    run = finish(start(tmp_path, "run", "job.conf", "--json", program=IN_PROCESS))
    assert run.code == 0, run.err + run.out

    send(kafka, "orders", [(0, b"\xff\xff"), (0, b'{"id": 1}'), (0, b"\x12\x02\xff\xfe")])
    back = f"""
        env {{ error.max-rows = 3 }}
        source {{ {kafka_block(kafka, "orders", "start_mode = earliest,")} }}
        sink {{ LocalFile {{ path = "{tmp_path}/back", file_format_type = json }} }}"""
    write_job(tmp_path, back)
    run = seatunnel(tmp_path, "run", "job.conf", "--json")

    assert run.code == 0, run.err + run.out
    table = run.receipt["tables"][0]
    assert (table["rows_written"], table["rows_rejected"]) == (ROWS, 3)
    lines = [line for file in (tmp_path / "back").rglob("*.json") for line in file.read_text().splitlines()]
    assert len(lines) == ROWS and set(json.loads(lines[0])) == {"id", "name", "line"}


def test_a_wrong_column_is_told_by_the_plan(tmp_path: Path) -> None:
    """No broker is asked: there is none."""
    nowhere = 'bootstrap.servers = "localhost:1", topic = orders,'
    write_job(
        tmp_path,
        f"""source {{ FakeSource {{ schema {{ fields {{ id = bigint, nam = string }} }} }} }}
            sink {{ Kafka {{ {nowhere} {MESSAGE} }} }}""",
    )
    plan = seatunnel(tmp_path, "plan", "job.conf")
    assert plan.code != 0
    assert "column 'nam': the message shop.v1.Order has no such field\n    did you mean name?" in plan.err


def test_looking_for_bad_rows_sends_no_row(tmp_path: Path, kafka: KafkaServer) -> None:
    """A topic keeps what was sent: only rows of the attempt that met the bad one may come twice, and none that are tried
    to find it."""
    rows = 100_000
    (tmp_path / "in.csv").write_text("".join(f"{n},{-1 if n == rows - 1 else n}\n" for n in range(rows)))
    message = """
        format = protobuf, protobuf_message_name = Count
        protobuf_schema = "syntax = \\"proto3\\"; message Count { uint64 id = 1; uint32 count = 2; }" """
    write_job(
        tmp_path,
        f"""
        env {{ error.max-rows = 1 }}
        source {{ LocalFile {{
            path = "{tmp_path}/in.csv", file_format_type = csv, schema {{ fields {{ id = bigint, count = bigint }} }}
        }} }}
        sink {{ Kafka {{
            bootstrap.servers = "{kafka.dsn}", topic = counts, semantics = AT_LEAST_ONCE, {message}
        }} }}""",
    )

    run = finish(start(tmp_path, "run", "job.conf", "--json", program=IN_PROCESS))

    assert run.code == 0, run.err + run.out
    table = run.receipt["tables"][0]
    assert (table["rows_written"], table["rows_rejected"]) == (rows - 1, 1)
    sent = Counter(record.value for record in records(kafka.dsn, "counts"))
    assert len(sent) == rows - 1 and sent.total() < 1.25 * rows
