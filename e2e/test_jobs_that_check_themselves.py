"""`seatunnel test`: several job files in one Spark application."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from e2e.support import seatunnel

JOB = """
env {{ parallelism = 2 }}
source {{ FakeSource {{ schema {{ fields {{ id = int }} }}, row.num = {rows} }} }}
sink {{ Assert {{ rules {{ row_rules = [ {{ rule_type = MIN_ROW, rule_value = {wanted} }},
                                         {{ rule_type = MAX_ROW, rule_value = {wanted} }} ] }} }} }}
"""


@pytest.mark.spark
def test_jobs_of_one_application_do_not_mix(tmp_path: Path) -> None:
    """Steps of equal names, different rows: each job is judged by its own rows, and the exit code by all jobs."""
    for name, rows, wanted in (("a", 10, 20), ("b", 1000, 2000), ("c", 10, 21), ("d", 7, 14)):
        (tmp_path / f"{name}.conf").write_text(JOB.format(rows=rows, wanted=wanted))

    run = seatunnel(tmp_path, "test", "a.conf", "b.conf", "c.conf", "d.conf", "--junit", "junit.xml")

    assert run.code == 1, run.err
    suite = ElementTree.parse(tmp_path / "junit.xml").getroot()
    assert {case.get("name"): len(case) for case in suite} == {"a.conf": 0, "b.conf": 0, "c.conf": 1, "d.conf": 0}
    assert "20 rows fail rule MIN_ROW 21" in (suite[2][0].get("message") or "")
    assert "1 failed" in run.out
