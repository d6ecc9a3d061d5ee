"""A weak password that is a word of the standard: the event stays valid, and names the same datasets."""

from __future__ import annotations

import pytest

from seatunnel_py.api import Dataset
from seatunnel_py.openlineage import facets
from seatunnel_py.openlineage.event_redaction import redacted_event
from seatunnel_py.openlineage.run_events import RunEventType, RunFacts, RunState, event_of
from seatunnel_py.redaction import keep_secret
from tests.run_lineage.published import require_valid
from tests.run_lineage.test_run_events import AT, RUN, some_datasets

WORDS = [
    "START",
    "BATCH",
    "DIRECT",
    "IDENTITY",
    "postgres",
    "mysql",
    "https",
    "openlineage",
    "spec",
    "facets",
    "seatunnel",
]


@pytest.mark.parametrize("word", [*WORDS, "seatunnel-py"])
def test_a_word_of_the_standard_is_not_masked(word: str) -> None:
    run = RunFacts(RUN.run_id, "job-1", "shop", "seatunnel", False, ("Spark", "4.3.0"))
    plain = event_of(RunEventType.START, AT, run, some_datasets(1, 2), RunState(1), described=True)
    keep_secret([word])
    event = event_of(RunEventType.START, AT, run, some_datasets(1, 2), RunState(1), described=True)
    require_valid(event)
    assert event == plain


def test_a_secret_is_masked_in_all_other_texts() -> None:
    """Also a whole address that is one, and one after a scheme."""
    keep_secret(["postgres", "hidden-9d2f71c0b5", "https://hooks.example.com/abc"])
    state = RunState(1, message="postgres: no entry for postgres://me:pw@db with hidden-9d2f71c0b5")
    event = event_of(RunEventType.FAIL, AT, RUN, some_datasets(1, 1), state, described=True)
    message = event["run"]["facets"]["errorMessage"]["message"]
    assert message == "******: no entry for ******://******@db with ******"
    assert redacted_event("https://hooks.example.com/abc is refused") == "****** is refused"
    assert redacted_event("postgres://me:pw@hidden-9d2f71c0b5/x") == "postgres://******@******/x"
    assert redacted_event({"names": ["postgres", "orders"]}) == {"names": ["******", "orders"]}


@pytest.mark.parametrize(
    ("namespace", "is_uri"),
    [
        (Dataset.of_server("postgres", "DB.example.com", 0, "t").namespace, True),
        (Dataset.of_server("postgres", "::1", 5432, "t").namespace, True),
        (Dataset.of_server("kafka", "broker_1", 9092, "t").namespace, True),
        ("s3://bucket/a%20b", True),
        (Dataset.of_server("postgres", "bücher.example.com", 5432, "t").namespace, False),
        (Dataset.of_server("postgres", "fe80::1%eth0", 5432, "t").namespace, False),
        ("s3://bucket/a b", False),
        ("my_db://host", False),
        ("file", False),
    ],
)
def test_a_namespace_that_is_no_uri_is_only_a_name(namespace: str, is_uri: bool) -> None:
    facet = facets.data_source(namespace)
    assert facet["name"] == namespace
    assert facet.get("uri") == (namespace if is_uri else None)
