"""Job files run one after the other: each has an outcome of its own, and none disturbs the next."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

import pytest

from seatunnel_py.cli.commands import test as command
from seatunnel_py.cli.commands.suite import Case, CaseOutcome, CaseVerdict, outcomes
from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.runtime.storage.home import Home

JOB = """
source {{ FakeSource {{ schema {{ fields {{ id = int }} }}, row.num = {rows} }} }}
sink {{ Assert {{ rules {{ row_rules = [ {{ rule_type = MIN_ROW, rule_value = {wanted} }},
                                         {{ rule_type = MAX_ROW, rule_value = {wanted} }} ] }} }} }}
"""


def write(directory: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text)


def ran(directory: Path, *names: str) -> list[CaseOutcome]:
    cases = [Case(directory / name, {"extra": "3"}) for name in names]
    return list(outcomes(cases, Home(directory / "home"), local=True))


def test_every_file_has_an_outcome(tmp_path: Path) -> None:
    """A failed assertion and a wrong file keep nobody else from running; causes say what went wrong."""
    write(
        tmp_path,
        {
            "good.conf": JOB.format(rows=5, wanted=5),
            "less.conf": JOB.format(rows=4, wanted=5),
            "wrong.conf": JOB.format(rows=5, wanted=5).replace("row.num", "row.nun"),
            "last.conf": JOB.format(rows=3, wanted="${extra}"),
        },
    )

    good, less, wrong, last = ran(tmp_path, "good.conf", "less.conf", "wrong.conf", "last.conf")

    assert [each.verdict for each in (good, less, wrong, last)] == [
        CaseVerdict.PASSED,
        CaseVerdict.FAILED,
        CaseVerdict.WRONG,
        CaseVerdict.PASSED,
    ]
    assert "4 rows fail rule MIN_ROW 5" in less.first_line
    assert "row.nun: unknown option" in wrong.first_line
    assert good.receipt is not None and good.receipt.total("rows_written") == 5
    assert good.checks_itself and good.cause == ""


def test_what_a_job_prints_belongs_to_its_outcome(tmp_path: Path) -> None:
    """The lines of Console stand in the outcome, not between the lines of the table."""
    console = JOB.format(rows=2, wanted=2).partition("sink")[0] + "sink { Console {} }"
    write(tmp_path, {"console.conf": console})

    (outcome,) = ran(tmp_path, "console.conf")

    assert outcome.output.count("SeaTunnelRow#kind=INSERT") == 2
    assert not outcome.checks_itself


def test_a_plan_that_fails_is_a_wrong_job_file(tmp_path: Path) -> None:
    """What only the planner finds out is reported like every other mistake in the file."""
    wrong = JOB.format(rows=2, wanted=2) + "transform { FieldMapper { field_mapper = { nobody = x } } }"
    write(tmp_path, {"wrong.conf": wrong})

    (outcome,) = ran(tmp_path, "wrong.conf")

    assert outcome.verdict is CaseVerdict.WRONG
    assert "nobody" in outcome.cause


def test_directories_are_searched_for_job_files(tmp_path: Path) -> None:
    """In order, deep, and a file that is named twice runs once."""
    write(tmp_path, {"b.conf": "", "a/c.json": "", "a/notes.txt": ""})

    assert command.job_files([tmp_path / "b.conf", tmp_path]) == [tmp_path / "b.conf", tmp_path / "a/c.json"]


@pytest.mark.parametrize("name", ["missing.conf", "empty"])
def test_nothing_to_run_is_an_error(tmp_path: Path, name: str) -> None:
    """A test run that silently tests nothing would be green for ever."""
    (tmp_path / "empty").mkdir()

    with pytest.raises(SeaTunnelError, match=name):
        command.job_files([tmp_path / name])


def test_a_junit_report_can_be_read_by_others(tmp_path: Path) -> None:
    """Failures and errors are told apart; characters that XML cannot hold do not spoil the file."""
    write(
        tmp_path,
        {
            "less.conf": JOB.format(rows=4, wanted=5),
            "wrong\x07.conf": JOB.format(rows=4, wanted=5).replace("Assert", "Assart"),
        },
    )
    done = ran(tmp_path, "less.conf", "wrong\x07.conf")

    command._write_junit(done, tmp_path / "reports" / "junit.xml")

    suite = ElementTree.parse(tmp_path / "reports" / "junit.xml").getroot()
    less, wrong = suite
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("2", "1", "1")
    assert "MIN_ROW" in (less[0].get("message") or "") and less[0].tag == "failure"
    assert wrong[0].tag == "error" and wrong.get("name") == "wrong\ufffd.conf"
