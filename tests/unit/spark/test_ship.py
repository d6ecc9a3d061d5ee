"""What travels with a job to a cluster."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from seatunnel_py.spark.ship import OURS, _distributions, shipment


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """The names at the top of both files, of a job that reads Kafka and writes to PostgreSQL."""
    modules = ("seatunnel_connectors.kafka.reader", "confluent_kafka")
    settings = shipment(modules, ("kafka", "postgres"), tmp_path_factory.mktemp("cache"), catalyst=False)
    found = {}
    for key in ("files", "archives"):
        path = Path(settings[key].partition("#")[0].removeprefix("file://"))
        found[key] = {name.partition("/")[0] for name in zipfile.ZipFile(path).namelist()}
    return found


def test_a_compiled_library_is_in_the_archive_alone(shipped: dict[str, set[str]]) -> None:
    """A zip on the path comes first, and nothing compiled can be imported from it."""
    assert "confluent_kafka" in shipped["archives"]
    assert "confluent_kafka" not in shipped["files"]
    assert "seatunnel_connectors" in shipped["files"]


def test_what_only_a_driver_needs_stays_there() -> None:
    """The compiler of Protobuf's schemas is larger than all that a worker of Kafka needs."""
    found = _distributions(OURS, ("kafka", "protobuf"), catalyst=False)
    assert {"confluent-kafka", "protobuf"} <= set(found)
    assert not {"grpcio-tools", "grpcio", "setuptools"} & set(found)


def test_extras_of_libraries_travel_too(shipped: dict[str, set[str]]) -> None:
    """psycopg without its binary part needs a library of the system, which a cluster's machine may not have."""
    assert {"psycopg", "psycopg_binary"} <= shipped["archives"]
