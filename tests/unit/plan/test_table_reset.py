"""A log whose tables are all copied again has nothing to wait with, whether one request asks for that or several."""

from __future__ import annotations

from dataclasses import replace

import pytest

from seatunnel_py.errors import PlanError
from seatunnel_py.plan.log_tables import following
from seatunnel_py.protocol.model.records import RecordKind
from seatunnel_py.runtime.resume.table_reset import copies_of
from tests.unit.plan.test_log_growth import paths
from tests.unit.plan.test_table_refresh import job, record

ALL = "these are all tables of"


def problems(tables: list[str], resets: tuple[str, ...] = ()) -> list[str]:
    named = job()
    with pytest.raises(PlanError) as refused:  # targets of the toys cannot be emptied
        copies_of(named, {"log": record(named["log"])}, tables, resets)
    return [one.message for one in refused.value.problems]


@pytest.mark.parametrize(
    ("tables", "resets", "all_of_them"),
    [
        (["b"], (), False),
        (["a", "b"], (), True),
        (["b"], ("c-a",), True),
        (["b"], ("c-b",), False),
        (["b"], ("c-of-another-job",), False),
    ],
)
def test_the_last_table_of_a_log_is_not_copied_again(
    tables: list[str], resets: tuple[str, ...], *, all_of_them: bool
) -> None:
    """Else no later driver could start: the journal says for ever that all are copied again."""
    assert any(ALL in one for one in problems(tables, resets)) is all_of_them


def test_a_table_that_the_job_no_longer_has_does_not_count() -> None:
    """It leaves the log at the next start, so the log would read nothing while the other one is copied."""
    named, before = job(), job()["log"]
    named["log"] = following(before, [paths(before)["b"]])
    with pytest.raises(PlanError, match=ALL):
        copies_of(named, {"log": record(before)}, ["b"])


def test_a_log_without_a_checkpoint_copies_no_table_again() -> None:
    """Stopped before its first one it begins from nothing, and cannot do that without the table."""
    named = job()
    zero = replace(record(named["log"]), kind=RecordKind.ZERO)
    with pytest.raises(PlanError, match="has no checkpoint yet"):
        copies_of(named, {"log": zero}, ["b"])
