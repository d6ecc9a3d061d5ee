"""Which errors of Kafka pass by themselves: every code of the protocol and of the client (P4-F8)."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError

from seatunnel_connectors.kafka.client.client import failure
from seatunnel_connectors.kafka.client.transient_errors import CLIENT, PROTOCOL
from seatunnel_py.api import FatalError, RetriableError

# `Errors.values()` of kafka-clients 4.1.0 whose exception is a RetriableException.
RETRIABLE = {
    2, 3, 5, 6, 7, 9, 13, 14, 15, 16, 19, 20, 41, 51, 56, 70, 71, 72, 74, 75, 78, 80, 83, 84, 88, 89, 100, 103, 106,
    122, 123, 133,
}  # fmt: skip
UNKNOWN_TOPIC_OR_PARTITION, BROKER_NOT_AVAILABLE = 3, 8
CODES = [code for code in range(-1, 134) if code]


@pytest.mark.parametrize("code", CODES)
def test_an_error_of_the_protocol_is_what_the_protocol_says(code: int) -> None:
    """A topic that does not exist is said at once; a broker that is away comes back."""
    passes = code in RETRIABLE - {UNKNOWN_TOPIC_OR_PARTITION} | {BROKER_NOT_AVAILABLE}

    found = failure(KafkaError(code), "reading")

    assert isinstance(found, RetriableError if passes else FatalError)


def test_codes_stand_under_their_names() -> None:
    known = {getattr(KafkaError, name): name for name in vars(KafkaError) if name.strip("_").isupper()}
    assert {code: known[code] for code in CLIENT} == CLIENT
    other_names = {2: "INVALID_MSG", 6: "NOT_LEADER_FOR_PARTITION"}
    for code, name in PROTOCOL.items():
        if code in known:  # the client may not know the newest
            assert known[code] == other_names.get(code, name)


@pytest.mark.parametrize("name", ["_TRANSPORT", "_TIMED_OUT", "_MSG_TIMED_OUT", "_ALL_BROKERS_DOWN"])
def test_a_broker_that_is_away_passes(name: str) -> None:
    assert isinstance(failure(KafkaError(getattr(KafkaError, name)), "reading"), RetriableError)


@pytest.mark.parametrize("name", ["_AUTHENTICATION", "_SSL", "_FATAL", "_AUTO_OFFSET_RESET", "_INVALID_ARG"])
def test_what_no_broker_mends_does_not(name: str) -> None:
    assert isinstance(failure(KafkaError(getattr(KafkaError, name)), "reading"), FatalError)
