"""A broker for all tests of the Kafka connector, and a topic of its own for each."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

from tests.servers.kafka import KafkaServer

_numbers = count(1)


@pytest.fixture(scope="package")
def kafka() -> Iterator[KafkaServer]:
    """A broker that nobody kills: a test that does starts its own. It ends with the folder, as it computes while it
    waits."""
    with KafkaServer.running() as server:
        yield server


@pytest.fixture
def topic() -> str:
    """A name that no other test of this session uses; the topic is not made."""
    return f"topic{next(_numbers)}"
