"""The recipe that every target chooses: by options, by what its database can do, and by how many rows are known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatunnel_connectors.jdbc.dialect import SinkRequest
from seatunnel_connectors.jdbc.options import ROWS_PER_UNIT, JdbcSinkOptions
from seatunnel_connectors.jdbc.target.load_decision import Recipes, recipe_of
from seatunnel_connectors.jdbc.url import parse_url
from seatunnel_py.api import Column, FatalError, JobMode, TablePath, TableSchema
from seatunnel_py.api.types import BIGINT

URL = "jdbc:postgresql://h/b"
TABLE = TableSchema(TablePath.parse("t"), (Column("id", BIGINT),))
POSTGRES = Recipes(staged=True, prepared=True, shadow_pays=True)
STATEMENTS, NOTHING = Recipes(staged=True), Recipes()
LARGE, SMALL = ROWS_PER_UNIT + 1, ROWS_PER_UNIT


def request(rows: int | None, *, mode: JobMode = JobMode.BATCH, **options: Any) -> SinkRequest:
    given = {"url": URL, "generate_sink_sql": True, "database": "b", "table": "t", **options}
    parsed = JdbcSinkOptions.model_validate(given, context={"job_file": True})
    table = replace(TABLE, options={} if rows is None else {"estimated_rows": str(rows)})
    return SinkRequest(parse_url(URL), parsed, table, "sink", "j", mode)


def chosen(can: Recipes, rows: int | None, why: str = "", *, books: bool = True, **more: Any) -> str:
    return recipe_of(request(rows, **more), "b.t", can, lambda: why, books=books)


ONCE = {"is_exactly_once": True}


@pytest.mark.parametrize(
    ("can", "rows", "more", "recipe"),
    [
        (POSTGRES, LARGE, {}, "shadow"),
        (POSTGRES, LARGE, {"why": "it is there"}, "table"),
        (POSTGRES, LARGE, {"why": "it is there", **ONCE}, "staged"),
        (POSTGRES, SMALL, ONCE, "table"),
        (POSTGRES, None, ONCE, "staged"),
        (POSTGRES, SMALL, {**ONCE, "mode": JobMode.STREAMING}, "staged"),
        (POSTGRES, None, {**ONCE, "exactly_once_recipe": "prepared"}, "prepared"),
        (STATEMENTS, LARGE, {}, "table"),
        (STATEMENTS, LARGE, ONCE, "shadow"),
        (STATEMENTS, LARGE, {"why": "it is there", **ONCE}, "staged"),
        (STATEMENTS, SMALL, ONCE, "table"),
        (NOTHING, LARGE, ONCE, "table"),
        (NOTHING, None, {**ONCE, "exactly_once_recipe": "direct"}, "table"),
    ],
)
def test_the_recipe(can: Recipes, rows: int | None, more: dict[str, Any], recipe: str) -> None:
    assert chosen(can, rows, **more) == recipe


@pytest.mark.parametrize(
    ("can", "more", "message", "remedy"),
    [
        (STATEMENTS, {"exactly_once_recipe": "prepared"}, "no recipe prepared", "staged"),
        (NOTHING, {"exactly_once_recipe": "staged"}, "no recipe staged", "direct"),
        (POSTGRES, {"exactly_once_recipe": "shadow", "why": "it is there"}, "shadow, but it is there", "staged"),
        (POSTGRES, {"books": False}, "needs a ledger", "CREATE"),
    ],
)
def test_what_a_database_cannot_do_is_refused_with_what_it_can(
    can: Recipes, more: dict[str, Any], message: str, remedy: str
) -> None:
    with pytest.raises(FatalError, match=message) as error:
        chosen(can, LARGE, **ONCE, **more)

    assert remedy in error.value.remedy
