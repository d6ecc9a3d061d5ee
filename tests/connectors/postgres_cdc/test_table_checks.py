"""Tables whose schema changes, or which are dropped, between two looks at the catalog."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from seatunnel_connectors.jdbc.source.findings import Found
from seatunnel_connectors.postgres_cdc.table_checks import ATTRIBUTES, LOOKS_MAX, checked
from seatunnel_py.api import SourceTable, TableFailure, parse_type
from seatunnel_py.plan.job_text.chosen import Connection
from tests.connectors.jdbc.copying import make_source
from tests.connectors.postgres_cdc.conftest import Log
from tests.kit.discovered import Discovered


class Changing:
    """Describes a table, and carries out one statement after each description."""

    def __init__(self, log: Log, *statements: str) -> None:
        self.log, self.statements = log, [*statements]
        self.address = make_source(log.place.source(table_path="public.t")).address

    def describe(self) -> Sequence[Found]:
        found = make_source(self.log.place.source(table_path="public.t")).tables()
        if self.statements:
            self.log.db.execute(self.statements.pop(0).encode())
        return found

    def checked(self) -> Found:
        (found,) = checked(self.address, self.describe)
        return found


@pytest.mark.parametrize(
    "change", ["ALTER TABLE t ADD w int", "ALTER TABLE t RENAME v TO w", "ALTER TABLE t ALTER v TYPE bigint"]
)
def test_a_table_that_changes_is_described_again(make_log: Callable[..., Log], change: str) -> None:
    """KeyError: the columns of one moment were looked up in the catalog of another; a type would differ in silence."""
    found = Changing(make_log("CREATE TABLE t (id int PRIMARY KEY, v int)"), change).checked()

    assert isinstance(found, SourceTable)
    assert isinstance(found.log_hints, dict)
    assert [*found.log_hints[ATTRIBUTES]] == [*found.schema.names]  # type: ignore[call-overload]
    assert {"w", "v"}.intersection(found.schema.names)
    if "bigint" in change:
        assert found.schema.columns[1].dtype == parse_type("bigint")


def test_a_table_that_never_settles_is_refused_by_name(make_log: Callable[..., Log]) -> None:
    changes = [f"ALTER TABLE t ADD w{number} int" for number in range(LOOKS_MAX)]
    found = Changing(make_log("CREATE TABLE t (id int PRIMARY KEY)"), *changes).checked()

    assert isinstance(found, TableFailure)
    assert "public.t changes while it is described" in found.message and found.remedy


def test_a_table_that_is_dropped_is_not_followed(make_log: Callable[..., Log]) -> None:
    changing = Changing(make_log("CREATE TABLE t (id int PRIMARY KEY)"))
    once = changing.describe()
    changing.log.db.execute("DROP TABLE t")

    (found,) = checked(changing.address, lambda: once)

    assert isinstance(found, TableFailure)
    assert "public.t was dropped while it was described" in found.message


def test_u14_names_that_are_discovered_select_their_tables(make_log: Callable[..., Log], tmp_path: Path) -> None:
    """Whatever is in them; a table that the log cannot follow is listed, too."""
    log = make_log('CREATE TABLE "Odd.name ""q" (id int PRIMARY KEY)', "CREATE TABLE keyless (v int)")
    found = Discovered(Connection("Postgres-CDC", {"url": log.url, "username": "postgres"}), tmp_path)
    everything = found.everything()
    assert [name.partition("public.")[2] for name in everything] == ['"Odd.name ""q"', "keyless"]
    assert found.chosen(everything[:1]) == everything[:1] and found.chosen(everything) == everything
