"""The sink under the conformance kit: everything that it declares, with kills at every failpoint on its way."""

from __future__ import annotations

from typing import Any

import pytest

from seatunnel_connectors.kafka.sink_factory import KafkaSinkFactory
from seatunnel_py.testing import SinkTarget, check_sink
from tests.connectors.kafka.sink_support import records
from tests.servers.kafka import KafkaServer


@pytest.mark.parametrize("semantics", ["EXACTLY_ONCE", "AT_LEAST_ONCE"])
def test_what_is_declared_holds(kafka: KafkaServer, topic: str, semantics: str) -> None:
    def fresh(number: int) -> SinkTarget:
        own = f"{topic}-{number}"
        told = {"topic": own, "bootstrap.servers": kafka.dsn, "semantics": semantics, "ledger.topic": f"{own}-ledger"}

        def rows() -> list[tuple[Any, ...]]:
            return [tuple(record.document.values()) for record in records(kafka.dsn, own)]

        return SinkTarget(KafkaSinkFactory(), told, rows)

    report = check_sink(fresh)

    assert not report.broken, report.text
