"""Every connector keeps what it declares, and the page that says so is what was found."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from seatunnel_py.testing import Report, check_sink, check_source
from tests.connectors.conformance import cases
from tests.connectors.conformance.page import PAGE, page
from tests.servers.kafka import KafkaServer
from tests.servers.mariadb import MariadbServer
from tests.servers.postgres import PostgresServer

pytestmark = pytest.mark.timeout(900)
"""The kit runs for all connectors before the first test."""


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, Report]]:
    """All of them: the page needs each, and each test looks at one."""
    folder = tmp_path_factory.mktemp("conformance")
    for name in ("once", "direct", "own"):
        (folder / name).mkdir()
    with PostgresServer.running() as postgres, MariadbServer.running() as mariadb, KafkaServer.running() as kafka:
        sinks = {
            "Jdbc, PostgreSQL": cases.postgres(postgres),
            "Jdbc, PostgreSQL, by key": cases.postgres(postgres, primary_keys=["id"]),
            "Jdbc, PostgreSQL, staged": cases.postgres(postgres, **cases.once("staged")),
            "Jdbc, PostgreSQL, direct": cases.postgres(postgres, **cases.once("direct")),
            "Jdbc, PostgreSQL, shadow": cases.postgres(postgres, **cases.once("shadow")),
            "Jdbc, PostgreSQL, prepared": cases.postgres(postgres, **cases.once("prepared")),
            "Jdbc, PostgreSQL, own statement": cases.postgres(postgres, **cases.OWN_STATEMENT),
            "Jdbc, MariaDB": cases.mariadb(mariadb),
            "Jdbc, MariaDB, staged": cases.mariadb(mariadb, **cases.once("staged")),
            "Jdbc, MariaDB, direct": cases.mariadb(mariadb, **cases.once("direct")),
            "Jdbc, MariaDB, shadow": cases.mariadb(mariadb, **cases.once("shadow")),
            "Jdbc, MariaDB, own statement": cases.mariadb(mariadb, **cases.OWN_STATEMENT),
            "Jdbc, SQLite": cases.sqlite(folder),
            "Jdbc, SQLite, staged": cases.sqlite(folder / "once", **cases.once("staged")),
            "Jdbc, SQLite, direct": cases.sqlite(folder / "direct", **cases.once("direct")),
            "Jdbc, SQLite, own statement": cases.sqlite(folder / "own", **cases.OWN_STATEMENT),
            "Jdbc through SQLAlchemy": cases.generic(folder),
            "Kafka": cases.kafka(kafka, "AT_LEAST_ONCE"),
            "Kafka, exactly-once": cases.kafka(kafka, "EXACTLY_ONCE"),
            "LocalFile, json": cases.files(folder, "json"),
            "LocalFile, parquet": cases.files(folder, "parquet"),
            "LocalFile, one file": cases.files(folder / "one", "json", single_file_mode=True),
            "Lines (example)": cases.lines(folder),
        }
        found = {name: check_sink(fresh) for name, fresh in sinks.items()}
        with cases.console(folder) as fresh:
            found["Console"] = check_sink(fresh)
        sources = cases.sources(folder, postgres, mariadb) | cases.streams(_made(folder / "followed"), kafka)
        yield {**found, **{f"source {name}": check_source(target) for name, target in sources.items()}}


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def test_what_is_declared_holds(reports: Mapping[str, Report]) -> None:
    """A promise that does not hold is named, with its reason."""
    broken = {name: report.text for name, report in reports.items() if report.broken}

    assert not broken, "\n".join(f"{name}: {text}" for name, text in broken.items())


def test_the_page_says_what_was_found(reports: Mapping[str, Report]) -> None:
    """``make guarantees`` writes it anew."""
    if os.environ.get("SEATUNNEL_WRITE_PAGES"):
        PAGE.write_text(page(reports))

    assert Path(PAGE).read_text() == page(reports)
