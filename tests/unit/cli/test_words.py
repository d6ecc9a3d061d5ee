"""Messages that a user meets: what they say is so, and says what to do (P1-D, P1-F, P1-G, P3-A8, P3-A11)."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from seatunnel_py.cli.jobs.failure_view import timeline_text
from seatunnel_py.errors import ChangesRefusedError
from seatunnel_py.nouns import counted
from seatunnel_py.runtime.observe.failure_timeline import Failure, Timeline
from seatunnel_py.runtime.resume.job_diff import changes, refuse

_LOCAL = (
    "from functools import partial; from seatunnel_py import app; app.RunOptions = partial(app.RunOptions, local=True); "
    "from seatunnel_py.__main__ import main; main()"
)
ASSERT = "Assert { rules { row_rules = [ { rule_type = MIN_ROW, rule_value = 100 } ] } }"
FAKE = "source { FakeSource { row.num = ${rows:5}, schema { fields { id = bigint } } } }\nsink { Console {} }\n"


def seatunnel(place: Path, *words: str) -> tuple[int, str]:
    said = subprocess.run(
        [sys.executable, "-c", _LOCAL, *words], cwd=place, capture_output=True, text=True, timeout=60, check=False
    )
    return said.returncode, said.stdout + said.stderr


def test_help_is_found_by_its_short_name_and_run_says_what_comes_first(tmp_path: Path) -> None:
    """P1-F: `-h` was refused; `run` without a file said only that an argument was missing."""
    assert seatunnel(tmp_path, "jobs", "show", "-h")[0] == 0
    code, said = seatunnel(tmp_path, "run")
    assert code == 2 and "run needs a job file" in said and "`seatunnel init`" in said


def test_a_variable_that_the_file_does_not_use_is_named_with_its_nearest(tmp_path: Path) -> None:
    """P1-A: `-i sicne=...` passed silently. P3-A11: commas in a value."""
    (tmp_path / "job.conf").write_text(FAKE)
    code, said = seatunnel(tmp_path, "check", "job.conf", "-i", "rosw=7")
    assert code == 0 and "-i rosw: the job file has no ${rosw}; did you mean 'rows'?" in said, said
    code, said = seatunnel(tmp_path, "check", "job.conf", "-i", "rows=7,8")
    assert code == 2 and """-i 'name="a,b"'""" in said


def test_an_option_of_env_in_a_source_is_sent_there(tmp_path: Path) -> None:
    """P1-D: "unknown option", without a hint."""
    (tmp_path / "job.conf").write_text(FAKE.replace("row.num", "read_limit.rows_per_second = 5, row.num"))
    code, said = seatunnel(tmp_path, "check", "job.conf")
    assert code == 2 and "it belongs to env: env { read_limit.rows_per_second = ... }" in said, said


def test_a_restore_asks_for_the_variables_that_the_job_had(tmp_path: Path) -> None:
    """P1-C: it went on with the defaults, and failed at what they lead to."""
    (tmp_path / "job.conf").write_text(FAKE.replace("Console {}", ASSERT))
    seatunnel(tmp_path, "run", "job.conf", "--job-id", "j", "-i", "rows=7")
    about = json.loads((tmp_path / ".seatunnel/jobs/j/job.json").read_text())
    assert about["variables"] == ["rows"]
    code, said = seatunnel(tmp_path, "jobs", "restore", "j")
    assert code == 1 and "the job was started with -i rows=…, which this command lacks" in said, said


def test_errors_of_a_copy_say_that_its_job_was_made_of_the_command(tmp_path: Path) -> None:
    """P1-A: they quoted `.seatunnel/copies/28ae9cca.conf:7:3`, which nobody had written."""
    (tmp_path / "s.db").touch()
    _, said = seatunnel(tmp_path, "copy", "sqlite:s.db", "sqlite:t.db", "--table", "nowhere")
    assert "the job of your command, line" in said, said


def step(plugin: str, **options: Any) -> dict[str, Any]:
    return {"kind": "source", "plugin": plugin, "options": options}


def described(name: str, columns: list[str]) -> dict[str, Any]:
    line = {"vertices": {f"{name}[t]": 1}, "sinks": {"s[t]": "out"}, "graph": "", "promises": {}, "masked": {}}
    pipelines = {"t": {**line, "columns": {"t": columns}}}
    return {"steps": {name: step("Jdbc", url="u", plugin_output=name)}, "pipelines": pipelines}


def refused(before: dict[str, Any], now: dict[str, Any]) -> ChangesRefusedError:
    with pytest.raises(ChangesRefusedError) as caught:
        refuse(changes(before, now), accepted=False)
    return caught.value


def test_a_step_that_is_only_called_otherwise_has_only_been_renamed() -> None:
    """P1-D: "they are connected in another way", with both --accept-changes and --fresh, and not a word of `id`."""
    error = refused(described("orders", ["a"]), described("sales", ["a"]))
    assert len(error.changes) == 1 and "is called sales now" in error.changes[0] and "`id = orders`" in error.changes[0]
    assert error.message.startswith("the name of a step has changed") and "--accept-changes" not in error.remedy


def test_a_table_that_has_changed_is_not_blamed_on_the_job_file() -> None:
    """P3-A8."""
    error = refused(described("orders", ["a"]), described("orders", ["a", "b"]))
    assert error.message.startswith("a source table has changed") and "--accept-changes" in error.remedy


def test_one_is_no_plural() -> None:
    """P1-G: "1 drivers lost", "1 failed attempts", "1 ends"."""
    timeline = Timeline(None)
    for what in ("drivers lost", "failed attempts", "ends", "restarts"):
        timeline._book(Failure("", 1, "x"), "t", what)
    _, counts, *_ = timeline_text(timeline)
    assert counts == "  t: 1 driver lost, 1 failed attempt, 1 end, 1 restart"


def test_a_number_has_its_noun() -> None:
    assert [counted(number, "row") for number in (0, 1, 2, 12_300)] == ["0 rows", "1 row", "2 rows", "12,300 rows"]
    assert [counted(2, word) for word in ("index", "identity", "vertex")] == ["2 indexes", "2 identities", "2 vertices"]


def test_plurals_are_made_in_one_place() -> None:
    """Plan, receipt, `jobs show` and the messages of connectors had each a function of their own."""
    root = Path(__file__).parents[3]
    files = [path for part in ("seatunnel_py", "connectors", "plugins") for path in (root / part).rglob("*.py")]
    by_hand = [
        str(path) for path in files if re.search(r"""\belse ['"]s['"]|def _?counted\(number""", path.read_text())
    ]
    assert by_hand == [str(root / "seatunnel_py/nouns.py")]
