"""Implements ``seatunnel test``: runs job files that check themselves with Assert, all in one Spark application."""

from __future__ import annotations

import re
import secrets
import shutil
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from xml.etree import ElementTree

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from seatunnel_py.cli.commands.suite import Case, CaseOutcome, CaseVerdict, outcomes
from seatunnel_py.cli.view.files import writing
from seatunnel_py.cli.view.numbers import seconds
from seatunnel_py.cli.view.safe_console import drawn, text_console
from seatunnel_py.cli.view.terminal import say, say_rendered
from seatunnel_py.errors import ExitCode, SeaTunnelError
from seatunnel_py.runtime.storage.home import Home

SUFFIXES = (".conf", ".json")
_COLOURS = {CaseVerdict.PASSED: "green", CaseVerdict.FAILED: "red", CaseVerdict.WRONG: "red"}
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def test(paths: list[Path], variables: Mapping[str, str], junit: Path | None) -> int:
    """Run the files, print a table; return 0 if all of them passed, else 1."""
    files = job_files(paths)
    place = Home.of_environment().path / "tests" / f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(3)}"
    done: list[CaseOutcome] = []
    with closing(outcomes([Case(file, variables) for file in files], Home(place))) as found:
        for outcome in found:
            done.append(outcome)
            say(f"{outcome.verdict.value}: {_shown(outcome.case.path)} ({seconds(outcome.seconds)})", err=True)
    passed = all(outcome.verdict is CaseVerdict.PASSED for outcome in done)
    say_rendered(_table(done))
    if junit is not None:
        with writing(junit):
            _write_junit(done, junit)
    if passed:
        shutil.rmtree(place, ignore_errors=True)
        return ExitCode.SUCCESS
    say(f"logs and receipts: {place}")
    return ExitCode.FAILED


test.__test__ = False  # type: ignore[attr-defined]  # test runners collect what is called so


def job_files(paths: Sequence[Path]) -> list[Path]:
    """The given files, and all job files below the given directories; each once, in order."""
    found: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            inside = [file for file in path.rglob("*") if file.suffix.lower() in SUFFIXES and file.is_file()]
            found |= dict.fromkeys(sorted(inside))
        elif path.is_file():
            found[path] = None
        else:
            raise SeaTunnelError(f"there is no file {path}", "give job files, or directories that hold some")
    if not found:
        where = ", ".join(str(path) for path in paths)
        raise SeaTunnelError(f"no job file in {where}", f"job files end in {' or '.join(SUFFIXES)}")
    return list(found)


def _table(done: Sequence[CaseOutcome]) -> str:
    real = Console()
    console = text_console(real, max(real.width, 100))
    table = Table(box=box.SIMPLE_HEAD, show_footer=True, pad_edge=False)
    failed = sum(outcome.verdict is not CaseVerdict.PASSED for outcome in done)
    total = sum(outcome.seconds for outcome in done)
    table.add_column("file", footer=f"{len(done)} file{'s' * (len(done) != 1)}", overflow="fold")
    table.add_column("result", footer=f"{failed} failed" if failed else "all passed")
    table.add_column("time", justify="right", footer=seconds(total))
    table.add_column("cause", overflow="fold")
    for outcome in done:
        result = Text(outcome.verdict.value, _COLOURS[outcome.verdict])
        table.add_row(_shown(outcome.case.path), result, seconds(outcome.seconds), _remark(outcome))
    console.print(table)
    return drawn(console)


def _shown(path: Path) -> str:
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def _remark(outcome: CaseOutcome) -> Text:
    if outcome.verdict is CaseVerdict.PASSED and not outcome.checks_itself:
        return Text("no Assert: it ran, and nothing was checked", "yellow")
    return Text(outcome.first_line)


def _write_junit(done: Sequence[CaseOutcome], path: Path) -> None:
    suite = ElementTree.Element(
        "testsuite",
        name="seatunnel test",
        tests=str(len(done)),
        failures=str(sum(outcome.verdict is CaseVerdict.FAILED for outcome in done)),
        errors=str(sum(outcome.verdict is CaseVerdict.WRONG for outcome in done)),
        time=f"{sum(outcome.seconds for outcome in done):.3f}",
    )
    for outcome in done:
        file = outcome.case.path
        case = ElementTree.SubElement(
            suite, "testcase", classname=_xml(str(file.parent)), name=_xml(file.name), time=f"{outcome.seconds:.3f}"
        )
        if outcome.verdict is not CaseVerdict.PASSED:
            tag = "failure" if outcome.verdict is CaseVerdict.FAILED else "error"
            ElementTree.SubElement(case, tag, message=_xml(outcome.first_line)).text = _xml(outcome.cause)
        if outcome.output:
            ElementTree.SubElement(case, "system-out").text = _xml(outcome.output)
    path.parent.mkdir(parents=True, exist_ok=True)
    ElementTree.ElementTree(suite).write(path, encoding="utf-8", xml_declaration=True)


def _xml(text: str) -> str:
    """Remove the characters that XML cannot hold."""
    return _NOT_XML.sub("\ufffd", text)
