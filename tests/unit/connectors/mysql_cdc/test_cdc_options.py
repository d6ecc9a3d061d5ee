"""Options of MySQL-CDC and MariaDB-CDC: names of SeaTunnel, and refusals that tell what to write instead."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from seatunnel_connectors.mysql_cdc.debezium_settings import ACCEPTED, REFUSED, check_settings
from seatunnel_connectors.mysql_cdc.options import BinlogCdcOptions, BinlogStart
from seatunnel_connectors.mysql_cdc.server_id import SERVER_ID_MAX, given_server_id, own_server_id

GIVEN = {"base-url": "jdbc:mysql://host:3306/shop", "table-names": ["shop.orders"]}


def options(**more: Any) -> BinlogCdcOptions:
    return BinlogCdcOptions.model_validate({**GIVEN, **more}, context={"job_file": True})


def test_names_of_seatunnel_are_understood() -> None:
    found = options(
        username="u", password="secret", **{"server-id": 5400, "startup.mode": "earliest", "debezium": {"include": {"schema": {"changes": True}}}}
    )  # fmt: skip

    assert (found.url, found.table_names, found.server_id) == (GIVEN["base-url"], ("shop.orders",), "5400")
    assert found.start is BinlogStart.EARLIEST
    assert "secret" not in repr(found)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"table-names": ["a.b,a.c"]}, r'holds several names; write \["a.b", "a.c"\]'),
        ({"table-pattern": ".*"}, "table-pattern"),
        ({"base-url": "jdbc:postgresql://host/db"}, "jdbc:mysql://host/db"),
        ({"startup.mode": "timestamp"}, "startup.timestamp"),
        ({"startup.mode": "specific"}, "startup.specific-offset.file"),
        ({"startup.mode": "specific", "startup.specific-offset.file": "log.1"}, "startup.specific-offset.pos"),
        ({"stop.mode": "specific"}, "stop.specific-offset.file"),
        ({"stop.mode": "specific", "stop.specific-offset.file": "log.1"}, "stop.specific-offset.pos"),
        ({"stop.mode": "timestamp"}, "stop.timestamp"),
        ({"format": "COMPATIBLE_JSON"}, "COMPATIBLE_DEBEZIUM_JSON"),
        ({"schema": {"fields": {"a": "int"}}}, "schema: the columns are those of the tables"),
        ({"debezium": {"topic.prefx": "srv"}}, "did you mean 'topic.prefix'"),
        (
            {"format": "COMPATIBLE_DEBEZIUM_JSON", "debezium": {"value.converter.schemas.enable": "on"}},
            "value.converter.schemas.enable = on is not supported; use true or false",
        ),
        ({"server-id": "5408-5400"}, "write 5400 or 5400-5408"),
        ({"server-id": "none"}, "write 5400 or 5400-5408"),
        ({"debezium": {"snapshot.mode": "never"}}, "set startup.mode"),
        ({"debezium": {"snapshot.locking.mod": "none"}}, "did you mean 'snapshot.locking.mode'"),
    ],
)
def test_refusals_tell_what_to_write_instead(given: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        options(**given)


def test_a_setting_of_debezium_is_accepted_or_refused() -> None:
    assert not ACCEPTED & REFUSED.keys()
    check_settings(dict.fromkeys(ACCEPTED, "x"))
    for name, remedy in REFUSED.items():
        with pytest.raises(ValueError, match="has no effect here") as raised:
            check_settings({name: "x"})
        assert remedy in str(raised.value)


def test_all_wrong_settings_are_named_at_once() -> None:
    given = {"value.converter.schemas.enable": "maybe", "topic.prefx": "a", "snapshot.mode": "never"}
    with pytest.raises(ValidationError) as caught:
        options(format="COMPATIBLE_DEBEZIUM_JSON", debezium=given)
    (found,) = caught.value.errors()
    assert found["loc"] == ("debezium",)
    for told in ("maybe is not supported", "did you mean 'topic.prefix'", "set startup.mode"):
        assert told in found["msg"]


def test_the_page_of_seatunnel_about_documents_is_understood() -> None:
    """Names in any case, and the schema that older pages ask for."""
    texts = dict.fromkeys(("topic", "key", "value"), "string")
    settings = {
        "key.converter.schemas.enable": "false",
        "database.server.name": "shop",
        "include.schema.changes": "true",
    }
    found = options(format="compatible_debezium_json", schema={"fields": texts}, debezium=settings).documents

    assert found is not None and options(debezium=settings).documents is None
    assert (found.database, found.server, found.key_schema, found.value_schema) == ("mysql", "shop", False, True)


def test_the_first_id_of_a_range_is_used() -> None:
    assert [given_server_id(text) for text in ("5400", "5400-5408", " 1 - 2 ", str(SERVER_ID_MAX))] == [
        5400, 5400, 1, SERVER_ID_MAX,
    ]  # fmt: skip


def test_the_own_id_stays_the_same_and_differs_between_steps(tmp_path: Path) -> None:
    store = str(tmp_path)
    ids = [own_server_id(f"job{job}", f"step{step}", store) for job in range(20) for step in range(5)]

    assert ids == [own_server_id(f"job{job}", f"step{step}", store) for job in range(20) for step in range(5)]
    assert len(set(ids)) == 100 and all(2_500_000_000 <= one <= SERVER_ID_MAX for one in ids)
    assert own_server_id("job0", "step0", store + "/other") not in ids
