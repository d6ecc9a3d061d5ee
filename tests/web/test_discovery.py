"""From a connection to a job file: its tables, the text for the chosen ones, and no password on the way."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from seatunnel_py.control.store.tokens import Role
from tests.web.conftest import CANARY
from tests.web.running import Served, serving

HOSTILE = ('odd "name"', "dotted.name", "star*", "täble")


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, str]]:
    """A server, and the address of a database."""
    folder: Path = tmp_path_factory.mktemp("discovery")
    with sqlite3.connect(folder / "shop.db") as connection:
        for name in ("people", "orders", "${env:HOME}", *HOSTILE):
            quoted = name.replace('"', '""')
            connection.execute(f'CREATE TABLE "{quoted}" (id INTEGER PRIMARY KEY, name TEXT)')
    connection.close()
    with serving(folder) as served:
        yield served, f"jdbc:sqlite:{folder}/shop.db"


def ask(served: Served, path: str, body: dict[str, Any]) -> dict[str, Any]:
    found = served.send("POST", f"discover/{path}", body, Role.EDIT)
    assert found.status_code == 200, found.text
    answer: dict[str, Any] = found.json()
    return answer


def test_u14_the_tables_of_a_connection_become_a_job_file(own: tuple[Served, str], tmp_path: Path) -> None:
    """A18: Each name that is listed selects its own table, whatever is in it; the file passes the check."""
    served, url = own
    connection = {"plugin": "Jdbc", "options": {"url": url}}
    found = ask(served, "tables", connection)
    names = [one["table"] for one in found["tables"]]
    assert found["exit_code"] == 0 and len(names) == len(HOSTILE) + 3
    assert {"columns": 2, "key": ["id"]}.items() <= found["tables"][0].items()
    safe = [name for name in names if "${" not in name]
    for chosen in (safe[:1], safe):
        text = ask(served, "job", {**connection, "tables": chosen, "target": f"{tmp_path}/lake"})["text"]
        checked = served.send("POST", "check", {"text": text}, Role.EDIT).json()
        assert checked["valid"], checked
        listed = served.send("POST", "discover", {"text": text}, Role.EDIT).json()
        assert [one["table"] for one in listed["tables"]] == chosen
    hidden = served.send("POST", "discover/job", {**connection, "tables": names}, Role.EDIT)
    assert hidden.status_code == 422 and "placeholder" in hidden.text


@pytest.mark.parametrize(
    ("plugin", "options"),
    [
        ("Jdbc", {"password": CANARY}),
        ("Postgres-CDC", {"password": CANARY}),
        ("MySQL-CDC", {"url": f"jdbc:mysql://root:{CANARY}@127.0.0.1/shop"}),
        ("MariaDB-CDC", {"url": f"jdbc:mariadb://127.0.0.1/shop?user=a&password={CANARY}"}),
        ("Jdbc", {"properties": f'{{"password": "{CANARY}"}}'}),
        (f"Jdbc {CANARY}", {}),
        ("Kafka", {}),
    ],
)
def test_t6_a_password_is_refused_and_not_repeated(
    own: tuple[Served, str], plugin: str, options: dict[str, str]
) -> None:
    """Before a connection is opened, in each place in which it may be written."""
    served, url = own
    body = {"plugin": plugin, "options": {"url": url, **options}}
    for path, more in (("tables", {}), ("job", {"tables": ["main.people"]})):
        refused = served.send("POST", f"discover/{path}", {**body, **more}, Role.EDIT)
        assert refused.status_code == 422 and refused.json()["remedy"], refused.text
        assert CANARY not in refused.text or CANARY in plugin


@pytest.mark.parametrize("target", [f"postgresql://me:{CANARY}@127.0.0.1/shop", "gopher://x/y"])
def test_t6_a_target_is_an_address_without_a_password(own: tuple[Served, str], target: str) -> None:
    """A reference in its place goes into the text."""
    served, url = own
    body: dict[str, Any] = {"plugin": "Jdbc", "options": {"url": url}, "tables": ["main.people"]}
    refused = served.send("POST", "discover/job", {**body, "target": target}, Role.EDIT)
    assert refused.status_code == 422 and CANARY not in refused.text and refused.json()["remedy"]
    text = ask(served, "job", {**body, "target": "postgresql://me:${env:SHOP}@127.0.0.1/shop"})["text"]
    assert 'password = "${env:SHOP}"' in text and 'username = "me"' in text


@pytest.mark.parametrize(
    ("plugin", "kind", "mode"),
    [
        ("Jdbc", "postgresql", "BATCH"),
        ("Postgres-CDC", "postgresql", "STREAMING"),
        ("MySQL-CDC", "mysql", "STREAMING"),
        ("MariaDB-CDC", "mariadb", "STREAMING"),
    ],
)
def test_a_source_of_changes_becomes_a_job_that_goes_on(
    own: tuple[Served, str], plugin: str, kind: str, mode: str
) -> None:
    """As its capabilities are; options with wrong values reach the text, whose check shows them."""
    served, _ = own
    options = {"url": f"jdbc:{kind}://127.0.0.1/shop", "username": "me", "password": "${env:SHOP}"}
    chosen = ["shop.public.orders", "shop.public.people"] if kind == "postgresql" else ["shop.orders", "shop.people"]
    text = ask(served, "job", {"plugin": plugin, "options": options, "tables": chosen})["text"]
    assert f'job.mode = "{mode}"' in text and all(f'"{name}"' in text for name in chosen)
    assert ask(served, "job", {"plugin": plugin, "options": {**options, "no.such": "1"}, "tables": chosen})
    catalogue = served.get("plugins").json()
    assert plugin in catalogue["discover"] and "Kafka" not in catalogue["discover"]


def test_a_place_that_is_away_is_named(own: tuple[Served, str]) -> None:
    """Its problem stands in the answer, with its remedy."""
    served, url = own
    body = {"plugin": "Jdbc", "options": {"url": url.replace("shop.db", "no/such.db")}}
    found = served.send("POST", "discover/tables", body, Role.EDIT)
    assert found.status_code in (200, 422) and "such.db" in found.text
    wrong = served.send("POST", "discover/tables", {"plugin": "Jdbc", "options": {"urll": url}}, Role.EDIT)
    assert wrong.status_code == 200 and wrong.json()["problems"]
