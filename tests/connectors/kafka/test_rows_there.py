"""What a topic holds before a job is said: it is a log, so a second run is appended, and not in silence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from seatunnel_py import app
from seatunnel_py.errors import PlanError
from seatunnel_py.runtime.storage.home import Home
from tests.servers.kafka import KafkaServer


def run(tmp_path: Path, kafka: KafkaServer, topic: str, **options: object) -> str:
    source = {"plugin_name": "FakeSource", "row.num": 7, "schema": {"table": "shop.t", "fields": {"id": "int"}}}
    sink = {"plugin_name": "Kafka", "topic": topic, "bootstrap.servers": kafka.dsn, **options}
    (path := tmp_path / "job.json").write_text(json.dumps({"source": [source], "sink": [sink]}))
    home = Home(tmp_path / "home")
    receipt = app.run(path, app.RunOptions({}, local=True), home, lambda event: None, lambda driver: None)
    assert receipt.exit_code == 0, receipt.tables[0].cause
    return str(receipt.to_plain()["tables"][0]["targets"][0]["present"]["text"])


def test_a_second_run_says_what_it_is_appended_to(kafka: KafkaServer, topic: str, tmp_path: Path) -> None:
    assert run(tmp_path, kafka, topic) == "new"
    assert run(tmp_path, kafka, topic) == "appended to about 7 records"
    assert run(tmp_path, kafka, topic, semantics="EXACTLY_ONCE") == "appended to about 14 records"


def test_a_name_that_kafka_does_not_take_is_refused_early(kafka: KafkaServer, tmp_path: Path) -> None:
    for name in ("ä", "..", "x" * 250):
        with pytest.raises(PlanError, match="Kafka takes no topic"):
            run(tmp_path, kafka, name)
