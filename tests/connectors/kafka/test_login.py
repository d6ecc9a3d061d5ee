"""A broker that wants a user and a password, given the way Java's clients are told."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import Producer

from seatunnel_py.api import PluginError
from seatunnel_py.api.process.resources import close_all
from tests.connectors.kafka.support import CALL_SECONDS, all_rows, row, source
from tests.servers.kafka import KafkaServer

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
USER, PASSWORD = "reader", "a secret word"


@pytest.fixture(scope="module")
def guarded() -> Iterator[KafkaServer]:
    settings = {
        "listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "inter.broker.listener.name": "PLAINTEXT",
        "listener.name.plaintext.plain.sasl.jaas.config": (
            f'{PLAIN} required username="{USER}" password="{PASSWORD}" user_{USER}="{PASSWORD}";'
        ),
    }
    with KafkaServer.running(settings=settings) as server:
        yield server
        close_all()


def login(password: str) -> dict[str, str]:
    jaas = f'{PLAIN} required username="{USER}" password="{password}";'
    return {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": jaas}


def test_a_user_reads(guarded: KafkaServer, topic: str) -> None:
    made = source(guarded, topic, **{"kafka.config": login(PASSWORD)})
    producer = Producer(made.cluster.settings())
    producer.produce(topic, value=row(1))
    assert producer.flush(CALL_SECONDS) == 0

    assert all_rows(made) == [(1, "n")]


def test_a_wrong_password_is_told_and_not_shown(guarded: KafkaServer, topic: str) -> None:
    made = source(guarded, topic, **{"kafka.config": login("another secret word")})

    with pytest.raises(PluginError) as caught:
        all_rows(made)
    assert "uthentication" in str(caught.value), caught.value
    assert "secret word" not in str(caught.value) + repr(made)
