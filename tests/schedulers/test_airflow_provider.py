"""The parts of the provider for Airflow that need no Airflow: outcomes, keys, and its calls of a real server."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from seatunnel_py.control.store import settings as store_settings
from seatunnel_py.control.store.tokens import Role
from tests.web.running import Served, serving

ROOT = Path(__file__).parents[2]
TEXT = """
env { job.mode = batch }
source { FakeSource { row.num = ${rows:3}, schema { table = "shop.t", fields { id = bigint } } } }
sink { Console {} }
"""


def head(code: int | None, state: str = "FAILED", **tables: int) -> dict[str, Any]:
    return {
        "job_id": "r",
        "state": state,
        "exit_code": code,
        "tables": tables,
        "job": {"driver": "d"},
        "receipt": None,
        "seconds": 1.0,
    }


@pytest.mark.parametrize(
    ("code", "partial", "verdict"),
    [
        (0, "fail", "SUCCEEDS"),
        (3, "fail", "FAILS"),
        (3, "warn", "WARNS"),
        (3, "ok", "SUCCEEDS"),
        (2, "ok", "FAILS_FOR_GOOD"),
        (1, "ok", "FAILS"),
        (130, "ok", "FAILS"),
        (143, "ok", "FAILS"),
        (None, "ok", "FAILS"),
    ],
)
def test_an_end_decides_about_the_task(code: int | None, partial: str, verdict: str) -> None:
    """A run that was killed has no exit code, and is a failure."""
    from airflow_seatunnel_py.run_outcome import end_of

    end = end_of(head(code, "X", DONE=1, FAILED=2), partial)

    assert (end.verdict.name, end.text[:33]) == (verdict, "the run r is X (1 DONE, 2 FAILED)")
    assert end.summary["exit_code"] == code and "receipt" not in end.summary


def test_a_retry_restores_what_a_restore_can_help() -> None:
    """Not a success, not a wrong job file, and not a run that is alive."""
    from airflow_seatunnel_py.run_outcome import may_restore

    assert [may_restore(head(code)) for code in (0, 1, 2, 3, 130, 143, None)] == [
        False,
        True,
        False,
        True,
        True,
        True,
        True,
    ]
    assert not may_restore({**head(None, "ENDED"), "job": None}), "no driver has begun it"
    assert not any(may_restore(head(None, state)) for state in ("RUNNING", "STALLED", "WAITING", "STARTING"))


def test_a_key_is_that_of_the_task_and_not_of_the_try() -> None:
    """Another one for each part of the task, and after a clear; short enough for the header."""
    from airflow_seatunnel_py.run_outcome import definition_id, idempotency_key

    base = ("dag", "run", "task", -1, 0)
    others = [
        ("dag", "run", "task", 0, 0),
        ("dag", "run", "task", -1, 1),
        ("dag", "ru", "ntask", -1, 0),
        ("d", "agrun", "task", -1, 0),
    ]
    keys = {idempotency_key(*one) for one in (base, base, *others)}
    assert len(keys) == 5 and all(len(key) <= 100 for key in keys)
    assert definition_id("a b", "c") != definition_id("a-b", "c")
    assert all(len(definition_id("d" * size, "t" * size)) <= 63 for size in (1, 63, 250))


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that starts nothing."""
    with serving(tmp_path_factory.mktemp("provider")) as served:
        with served.context.database.writing() as connection:
            store_settings.keep(connection, "max-running", 0)
        yield served


def client_of(served: Served, role: Role = Role.EDIT) -> Any:
    from airflow_seatunnel_py.server_client import ServerAddress, ServerClient

    return ServerClient(ServerAddress(served.url, served.tokens[role]))


def test_a_text_is_stored_once(held: Served) -> None:
    """The same text is the same revision; tasks that change it at the same time all succeed."""
    client = client_of(held)

    assert [client.store("once", TEXT), client.store("once", TEXT), client.store("once", f"{TEXT}\n")] == [1, 1, 2]
    with ThreadPoolExecutor(4) as pool:
        numbers = set(pool.map(lambda at: client.store("contested", f"{TEXT}# {at}\n"), range(4)))
    assert len(numbers) == 4


def test_a_start_is_adopted_and_taken_back(held: Served) -> None:
    """The same key finds the run; before it has a directory the state of its start is known."""
    from airflow_seatunnel_py.run_outcome import has_ended
    from airflow_seatunnel_py.server_client import ServerError, StartOrder

    client = client_of(held)
    client.store("adopted", TEXT)
    order = StartOrder("adopted", "airflow-1", {"rows": "5"})
    first, again = client.start(order), client.start(order)
    assert first["job_id"] == again["job_id"]
    found = client.head(first["job_id"], order)
    assert (found["state"], has_ended(found)) == ("WAITING", False)
    assert client.failures(first["job_id"]) == []
    with pytest.raises(ServerError, match="Idempotency-Key was used for another request"):
        client.start(StartOrder("adopted", "airflow-1", {"rows": "6"}))
    assert "taken out of the queue" in client.end(first["job_id"], saves=False, seconds=5)
    dropped = client.head(first["job_id"], order)
    assert (dropped["state"], has_ended(dropped)) == ("DROPPED", True)


def test_a_refusal_names_cause_and_remedy(held: Served) -> None:
    """As the server has worded it, and never the token."""
    from airflow_seatunnel_py.server_client import ServerAddress, ServerClient, ServerError, StartOrder

    with pytest.raises(ServerError, match=r"needs the role operate.*ask an administrator"):
        client_of(held, Role.READ).start(StartOrder("adopted", "k"))
    with pytest.raises(ServerError, match="never closed"):
        client_of(held).store("wrong", "source {")
    with pytest.raises(httpx.ConnectError):
        ServerClient(ServerAddress("http://127.0.0.1:9", "secret")).whoami()
    assert "secret" not in repr(ServerAddress("http://h", "secret"))
    assert client_of(held).whoami()["role"] == "edit"


def test_the_provider_is_a_distribution_of_its_own() -> None:
    """Airflow is in none of our extras, and no file of the provider is in our wheel."""
    ours = tomllib.loads((ROOT / "pyproject.toml").read_text())
    its = tomllib.loads((ROOT / "schedulers/airflow/pyproject.toml").read_text())

    assert "airflow" not in str(ours["project"]).lower()
    assert not any("schedulers" in one for one in ours["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"])
    name = its["project"]["entry-points"]["apache_airflow_provider"]["provider_info"]
    assert (ROOT / "schedulers/airflow" / name.partition(":")[0].replace(".", "/")).with_suffix(".py").is_file()
