"""Sinks whose rows nobody can look at afterwards, through deaths of their driver: what Assert counts is exact, what
Console prints is all there."""

from __future__ import annotations

import re
import signal
import tempfile
from pathlib import Path

import pytest

from e2e.support import IN_PROCESS, Finished, finish, start, write_job

ROWS, SPLITS = 1_500, 60
DEATHS = ("before", "after")


class Job:
    """A bounded job with many commits, run again and again until it ends by itself."""

    def __init__(self, home: Path, sink: str) -> None:
        self.home = home
        write_job(
            home,
            f"""
            env {{ checkpoint.interval = 20, read_limit.rows_per_second = 1500 }}
            source {{ FakeSource {{ row.num = {ROWS}, split.num = {SPLITS},
                        schema {{ table = "shop.events", fields {{ id = bigint }} }},
                        bigint.fake.mode = range, auto.increment.enabled = true }} }}
            sink {{ {sink} }}
            """,
        )

    def run(self, failpoint: str = "") -> Finished:
        hits = Path(tempfile.mkdtemp(dir=self.home))
        armed = {"SEATUNNEL_FAILPOINT": failpoint, "SEATUNNEL_FAILPOINT_DIR": str(hits)} if failpoint else {}
        command = ("run", "job.conf", "--job-id", "j", "--restore", "latest")
        return finish(start(self.home, *command, env=armed, program=IN_PROCESS))

    def through_deaths(self, sink: str) -> list[Finished]:
        """Dies before and behind a commit, then ends."""
        runs = [self.run(f"{sink}.commit.{where}:kill@2") for where in DEATHS]
        assert [one.code for one in runs] == [-signal.SIGKILL] * len(runs), runs[-1].err
        return [*runs, self.run()]


@pytest.mark.parametrize(("wanted", "code"), [(ROWS, 0), (ROWS + 1, 1)])
def test_assert_counts_every_row_once(tmp_path: Path, wanted: int, code: int) -> None:
    """Also those that a driver has counted which was killed, and those that it had not counted yet."""
    rules = ", ".join(f"{{ rule_type = {rule}, rule_value = {wanted} }}" for rule in ("MIN_ROW", "MAX_ROW"))

    last = Job(tmp_path, f"Assert {{ rules {{ row_rules = [{rules}] }} }}").through_deaths("assert")[-1]

    assert last.code == code, last.err
    assert code == 0 or f"{ROWS:,} rows fail rule" in last.out + last.err
    assert code or not list(tmp_path.rglob("assert-*")), "what was counted is left behind"


def test_console_prints_every_row(tmp_path: Path) -> None:
    """At least once: what was printed before a death comes again where nobody had heard that it was printed."""
    runs = Job(tmp_path, "Console {}").through_deaths("console")

    printed = [int(one) for run in runs for one in re.findall(r"kind=INSERT : (\d+)", run.out)]
    assert runs[-1].code == 0, runs[-1].err
    assert set(printed) == set(range(1, ROWS + 1))
    assert len(printed) < 3 * ROWS, "far more came again than what the dead drivers had under way"
