"""What travels with a job to a cluster."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path

import pytest

from seatunnel_py.spark.app.bundle import OURS, _distributions, shipment


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """The names at the top of both files, of a job that reads Kafka and writes to PostgreSQL."""
    modules = ("seatunnel_connectors.kafka.source.reader", "confluent_kafka")
    settings = shipment(
        modules, ("seatunnel-py[kafka]", "seatunnel-py[postgres]"), tmp_path_factory.mktemp("cache"), catalyst=False
    )
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
    found = _distributions(OURS, ("seatunnel-py[kafka]", "seatunnel-py[protobuf]"), catalyst=False)
    assert {"confluent-kafka", "protobuf"} <= set(found)
    assert not {"grpcio-tools", "grpcio", "setuptools"} & set(found)


def test_what_only_the_command_line_needs_stays_there() -> None:
    for extras in ((), ("seatunnel-py[kafka]",)):
        found = _distributions(OURS, extras, catalyst=False)
        assert {"pyarrow", "pydantic"} <= set(found)
        assert not {"typer", "rich", "pygments", "pluggy"} & set(found)


def test_modules_travel_compiled(tmp_path: Path) -> None:
    """Nothing is compiled out there, in the zip and in the directory that the archive becomes."""
    settings = shipment(("seatunnel_connectors.jdbc.factory",), (), tmp_path / "cache", catalyst=False)
    code, libraries = (Path(settings[key].partition("#")[0].removeprefix("file://")) for key in ("files", "archives"))
    with zipfile.ZipFile(libraries) as archive:
        archive.extractall(tmp_path / "libraries")
    look = """
        import builtins, sys
        compiled = []
        real = builtins.compile
        builtins.compile = lambda source, name, *more, **others: compiled.append(str(name)) or real(
            source, name, *more, **others)
        import seatunnel_connectors.jdbc.factory, seatunnel_py.work.run, pyarrow, pydantic
        home = sys.argv[1]
        assert pyarrow.__file__.startswith(home), pyarrow.__file__
        print([name for name in compiled if name.startswith(home)])
    """
    environment = {"PYTHONPATH": os.pathsep.join([str(code), str(tmp_path / "libraries")]), "PYTHONVERBOSE": ""}
    command = [sys.executable, "-S", "-B", "-c", textwrap.dedent(look), str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path)

    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == "[]\n"


def test_extras_of_libraries_travel_too(shipped: dict[str, set[str]]) -> None:
    """psycopg without its binary part needs a library of the system, which a cluster's machine may not have."""
    assert {"psycopg", "psycopg_binary"} <= shipped["archives"]
