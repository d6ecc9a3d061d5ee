"""Routes that open the connections of a job file: first rows, tables, and whether both ends answer."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from seatunnel_py.control.store.tokens import Role
from tests.web.conftest import CANARY
from tests.web.running import Served, serving
from tests.web.test_run_quarantine import data_token

NAMES = [f"{CANARY}-{at}" for at in range(20)]


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, str]]:
    """A server, and a job file that reads a database."""
    folder: Path = tmp_path_factory.mktemp("probes")
    with sqlite3.connect(folder / "shop.db") as connection:
        connection.execute("CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT)")
        connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY)")
        connection.executemany("INSERT INTO people (name) VALUES (?)", [(name,) for name in NAMES])
    connection.close()
    text = f"""
    source {{ Jdbc {{ url = "jdbc:sqlite:{folder}/shop.db", driver = sqlite, table_path = "main.people" }} }}
    sink {{ Console {{}} }}
    """
    with serving(folder) as served:
        yield served, text


def test_a_preview_shows_rows_only_with_the_right_data(own: tuple[Served, str]) -> None:
    """Types and lengths without it, for the role that may change what runs, too."""
    served, text = own
    masked = served.send("POST", "preview", {"text": text, "rows": 3}, Role.EDIT)
    assert masked.status_code == 200 and CANARY not in masked.text
    assert (masked.json()["exit_code"], masked.json()["masked"]) == (0, True)
    step = masked.json()["steps"][0]
    assert step["rows"][0]["name"].startswith("<") and f"{len(NAMES[0])} characters" in step["rows"][0]["name"]
    assert set(step["columns"]) == {"id", "name"} and len(step["rows"]) == 3
    with served.client(None) as client:
        client.headers["Authorization"] = f"Bearer {data_token(served, Role.EDIT)}"
        shown = client.post("/api/v1/preview", json={"text": text, "rows": 2}).json()
    assert [row["name"] for row in shown["steps"][0]["rows"]] == NAMES[:2]


def test_discovery_and_connections(own: tuple[Served, str]) -> None:
    """As the commands with --json."""
    served, text = own
    everything = text.replace('table_path = "main.people"', 'table_path = "main.*", use_regex = true')
    found = served.send("POST", "discover", {"text": everything, "exclude": ["main.ord*"]}, Role.EDIT).json()
    assert found["exit_code"] == 0 and len(found["tables"]) == 1 and "people" in str(found["tables"][0])
    answers = served.send("POST", "test-connection", {"text": text}, Role.EDIT).json()
    assert answers["exit_code"] == 0 and [one["good"] for one in answers["connections"]] == [True, True]


@pytest.mark.parametrize("path", ["preview", "discover", "test-connection"])
def test_a_wrong_job_file_and_a_place_that_is_away(own: tuple[Served, str], path: str) -> None:
    """The problems with their lines; and a sentence of what does not answer."""
    served, text = own
    wrong = served.send("POST", path, {"text": text.replace("Jdbc", "Jdbx")}, Role.EDIT)
    assert (wrong.status_code, wrong.json()["exit_code"]) == (200, 2)
    assert wrong.json()["problems"][0]["line"] > 0
    away = served.send("POST", path, {"text": text.replace("shop.db", "no/such.db")}, Role.EDIT)
    assert (away.status_code in (200, 422) and "such.db" in away.text) or path == "preview", away.text
    assert away.json().get("exit_code", 1) != 0
    assert served.send("POST", path, {"text": text, "rows": 10**9}, Role.EDIT).status_code == 422
