"""Bad rows over HTTP: counted and masked for all, shown to some, delivered after a fix with what was announced."""

from __future__ import annotations

import json
import re
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from seatunnel_py.cli.view.value_masks import masked_error, masked_values
from seatunnel_py.control.store import tokens
from seatunnel_py.control.store.audit import Act
from seatunnel_py.control.store.tokens import Role, TokenWish
from tests.web.conftest import CANARY
from tests.web.running import Served, serving
from tests.web.test_writes import define, noted, started, until

ROWS = 60
BAD = 4


def job(folder: Path, pattern: str) -> str:
    return f"""
env {{ job.name = bad, error.max-rows = 10, unit.rows = 100 }}
source {{ LocalFile {{ path = "{folder}/in.json", file_format_type = json, plugin_output = read,
                       schema {{ table = "t", fields {{ id = bigint, name = string }} }} }} }}
transform {{ DataValidator {{ plugin_input = read, plugin_output = valid, field_rules = [
    {{ field_name = name, rule_type = REGEX, pattern = "{pattern}" }} ] }} }}
sink {{ Jdbc {{ url = "jdbc:sqlite:{folder}/target.db", driver = sqlite, generate_sink_sql = true, plugin_input = valid,
                table = t, primary_keys = ["id"] }} }}
"""


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, str, Path]]:
    """A server with a run that has set some rows aside."""
    folder = tmp_path_factory.mktemp("quarantine")
    names = [f"n{at}" if at >= BAD else f"{CANARY}-{at}" for at in range(ROWS)]
    (folder / "in.json").write_text(
        "".join(json.dumps({"id": at, "name": name}) + "\n" for at, name in enumerate(names))
    )
    with sqlite3.connect(folder / "target.db") as connection:
        connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT)")
    connection.close()
    with serving(folder) as served:
        define(served, "bad", job(folder, "^n[0-9]+$"))
        run = started(served, "bad")
        head = until(served, run, {"SUCCESS", "FAILED", "SOME_TABLES_FAILED"})
        assert head["receipt"]["totals"]["rows_rejected"] == BAD, head
        noted(served, run, "run.ended")
        yield served, run, folder


def test_bad_rows_are_counted_by_table_and_reason(own: tuple[Served, str, Path]) -> None:
    """Messages without values, so that rows with one cause are one line."""
    served, run, _ = own
    answer = served.get(f"runs/{run}/quarantine")
    (table,) = answer.json()["tables"]
    (reason,) = table["reasons"]

    assert (table["table"], table["rows"], table["waiting"], table["replayed"]) == ("t", BAD, BAD, 0)
    assert (reason["rows"], answer.json()["waiting"]) == (BAD, BAD)
    assert "name" in reason["error"] and CANARY not in answer.text


def data_token(served: Served, role: Role = Role.READ) -> str:
    with served.context.database.acting(Act("test", "token.create")) as write:
        wish = TokenWish(f"data-{time.monotonic_ns()}", role, data=True)
        return tokens.issue(write.connection, wish, "test", time.time())[1]


def test_values_are_only_for_tokens_with_the_right_data(own: tuple[Served, str, Path]) -> None:
    """Others see types and lengths, whatever their role is."""
    served, run, _ = own
    for role in Role:
        answer = served.get(f"runs/{run}/quarantine/rows", role)
        assert answer.json()["masked"] is True and CANARY not in answer.text
        assert [row["values"] for row in answer.json()["rows"]] == [
            {"id": "<int64>", "name": f"<string, {len(CANARY) + 2} characters>"}
        ] * BAD
    with served.client(None) as client:
        client.headers["Authorization"] = f"Bearer {data_token(served)}"
        shown = client.get(f"/api/v1/runs/{run}/quarantine/rows", params={"table": "t", "limit": 2}).json()
    assert shown["masked"] is False
    assert [row["values"] for row in shown["rows"]] == [{"id": at, "name": f"{CANARY}-{at}"} for at in range(2)]


@pytest.mark.parametrize("table", ["x", "--masked", "-", "t\0", "t --limit 9"])
def test_a_table_without_bad_rows_is_unknown(own: tuple[Served, str, Path], table: str) -> None:
    """Also one that would be an option of the command."""
    served, run, _ = own
    assert served.get(f"runs/{run}/quarantine/rows", table=table).status_code in (404, 422)


def replay(served: Served, run: str, body: Any, *, dry: bool = False) -> Any:
    return served.send("POST", f"runs/{run}/quarantine/replay{'?dry=true' if dry else ''}", body, Role.OPERATE)


def test_bad_rows_are_delivered_as_announced(own: tuple[Served, str, Path]) -> None:
    """Through the newest revision, each once; another announcement is refused."""
    served, run, folder = own
    before = replay(served, run, {}, dry=True).json()
    text = job(folder, "^[a-z0-9-]+$")
    assert served.send("PUT", "definitions/bad", {"text": text}, If_Match='"1"').status_code == 200
    found = replay(served, run, {}, dry=True).json()
    assert (found["rows"], found["tables"], found["revision"], before["revision"]) == (BAD, {"t": BAD}, 2, 1)
    for body in ({}, {"digest": before["digest"]}):
        refused = replay(served, run, body)
        assert (refused.status_code, refused.json()["type"][-8:]) == (409, "announce")
    begun = replay(served, run, {"digest": found["digest"]})
    assert begun.status_code == 202, begun.text
    assert replay(served, run, {"digest": found["digest"]}).status_code == 409
    end = time.monotonic() + 90
    while served.get(f"runs/{run}/quarantine").json()["waiting"]:
        assert time.monotonic() < end, (served.home.path / "server" / "output" / f"{run}.replay.log").read_text()
        time.sleep(1)
    with sqlite3.connect(folder / "target.db") as connection:
        assert [id for (id,) in connection.execute("SELECT id FROM t ORDER BY id")] == list(range(ROWS))
    connection.close()
    (row,) = (
        one
        for one in served.get("audit", Role.ADMIN, act="quarantine.replay").json()["audit"]
        if one["result"] == "done"
    )
    assert (row["announced"], row["revision"], row["object"]) == (found["digest"], 2, run)
    after = replay(served, run, {}, dry=True).json()
    assert after["rows"] == 0 and replay(served, run, {"digest": after["digest"]}).status_code == 409
    served.context.control.supervisor.launcher.ends()


def test_masks_keep_names_and_hide_values() -> None:
    """Of every type; also values that a message quotes in another form."""
    data = pa.record_batch(
        {"n": [7], "s": ["Ann Lee"], "b": [b"\x00\x01"], "l": [[1, 2]], "z": pa.array([None], pa.string())}
    )
    values = {"n": 7, "s": "Ann Lee", "b": b"\x00\x01", "l": [1, 2], "z": None}
    assert masked_values(values, data.schema) == {
        "n": "<int64>", "s": "<string, 7 characters>", "b": "<binary, 2 bytes>", "l": "<list, 2 values>", "z": None
    }  # fmt: skip
    error = """column 's' refuses Ann Lee and 'Bob' of "x", at 2026-01-31 of 12,000.5: [1, 2]"""
    shown = masked_error(error, values)
    assert masked_error('row {"n":7,"s":1}', {"n": 7, "s": 1}) == masked_error('row {"n":17,"s":2}', {"n": 17, "s": 2})
    assert "'s'" in shown and not re.search(r"Ann|Lee|Bob|\d", shown), shown
