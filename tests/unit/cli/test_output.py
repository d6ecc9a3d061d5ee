"""What the commands print and write, and what they say where that cannot be done."""

from __future__ import annotations

import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from rich.text import Text

from seatunnel_py import job_end
from seatunnel_py.api import Column, TablePath, TableSchema, parse_type
from seatunnel_py.cli.commands import preview
from seatunnel_py.cli.view.files import writing
from seatunnel_py.cli.view.receipt_view import receipt_text
from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.local.preview import StepRows
from seatunnel_py.runtime.observe.receipt import Receipt, ResumePoint, Seconds, TableReceipt, TableState, TargetReceipt
from seatunnel_py.runtime.storage.home import Home
from seatunnel_py.work.unit import FailureKind, UnitFailure


@pytest.mark.parametrize("arguments", [["plugins", "show", "Jdbc"], ["plugins", "list", "--json"], ["check", "--help"]])
def test_a_full_disk_behind_stdout_is_told_in_one_line(arguments: list[str]) -> None:
    program = "from seatunnel_py.__main__ import main; main()"
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-c", program, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )

    assert ended.returncode == 1
    assert ended.stderr == "error: No space left on device: where the output goes\n"


_INTERRUPTED_WHILE_LOADING = """
import sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "{module}":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Finder())
from seatunnel_py.__main__ import main
main()
"""


@pytest.mark.parametrize("module", ["typer", "seatunnel_py.cli.commands.plugins"])
def test_who_interrupts_what_is_still_being_loaded_sees_no_trace(module: str) -> None:
    program = _INTERRUPTED_WHILE_LOADING.format(module=module)

    ended = subprocess.run(
        [sys.executable, "-c", program, "plugins", "list"], capture_output=True, text=True, check=False
    )

    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "")


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    file = tmp_path / "missing" / "plan.svg"

    with pytest.raises(SeaTunnelError, match=r"cannot write .*plan\.svg: No such file"), writing(file):
        file.write_text("<svg/>")


@pytest.mark.parametrize(("state", "said"), [(TableState.DONE, True), (TableState.FAILED, False)])
def test_sources_are_called_empty_only_where_they_were_read_to_their_ends(
    tmp_path: Path, state: TableState, said: bool
) -> None:
    receipt = Receipt("j", "job", (TableReceipt("t", (), state),), Seconds())

    assert ("the sources are empty" in receipt_text(receipt, Home(tmp_path))) is said


@pytest.mark.parametrize("width", [20, 40, 60, 80, 100, 120, 200])
def test_no_terminal_is_too_narrow_for_names_and_numbers(
    tmp_path: Path, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A number that is cut is another number."""
    for name, value in {"FORCE_COLOR": "1", "NO_COLOR": "1", "TERM": "xterm", "COLUMNS": str(width)}.items():
        monkeypatch.setenv(name, value)
    targets = (TargetReceipt("shop.public.orders_of_last_year", 2_000_000, 4_000), TargetReceipt("lake", 1_234_567, 1))
    rows = TableReceipt("warehouse.orders", targets, TableState.DONE, 7_654_321, 3_234_567, 5_000_000, 77, 4_001)
    receipt = Receipt("j", "job", (rows, TableReceipt("t2", (), TableState.FAILED)), Seconds(75.0, 1.0, 1.0, 0.5))

    text = receipt_text(receipt, Home(tmp_path))

    assert "…" not in text
    words = [
        "2,000,000",
        "1,234,567",
        "7,654,321",
        "5,000,000",
        "77",
        "lake",
        "done",
        "failed",
        "1 min 15 s",
        "2 tables",
    ]
    if "─" not in text:  # a table folds names
        words += ["warehouse.orders", "shop.public.orders_of_last_year"]
    assert width in (100, 120) or ("─" in text) is (width == 200)
    assert [word for word in words if word not in text] == []


def test_a_receipt_that_cannot_be_kept_is_shown_all_the_same(tmp_path: Path) -> None:
    """The rows have arrived, and somebody waits for the news."""
    receipt = Receipt("j", "job", (TableReceipt("t", (), TableState.DONE, 5),), Seconds())

    place = Home(tmp_path).claim("j", fresh=False, about={})
    (place.path / "receipt.json").mkdir()

    shown = job_end.kept(receipt, place, resumable=True)

    assert shown.exit_code == 0
    assert f"the receipt could not be kept in {place.path}: Is a directory" in receipt_text(shown, Home(tmp_path))
    (place.path / "receipt.json").rmdir()
    assert job_end.kept(receipt, place, resumable=True) == receipt


@pytest.mark.parametrize("width", [60, 200])
@pytest.mark.parametrize("state", [TableState.ISOLATED, TableState.STOPPED])
def test_a_sink_that_was_left_out_is_named_with_cause_and_place(
    tmp_path: Path, width: int, state: TableState, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which target of which table, why, from where it lacks rows, and what to do; the others are called done."""
    for name, value in {"FORCE_COLOR": "1", "NO_COLOR": "1", "TERM": "xterm", "COLUMNS": str(width)}.items():
        monkeypatch.setenv(name, value)
    cause = UnitFailure(FailureKind.FATAL, "permission denied", "grant it")
    stand = ResumePoint(4, {"s0": {"offset": 17}})
    rest = TableState.DONE if state is TableState.ISOLATED else state
    targets = (
        TargetReceipt("lake", 10, 80, rest),
        TargetReceipt("pond", 3, 24, TableState.ISOLATED, cause, stand),
    )
    receipt = Receipt("j", "job", (TableReceipt("orders", targets, state, 10, 13, cause=cause),), Seconds())

    text = " ".join(Text.from_ansi(receipt_text(receipt, Home(tmp_path))).plain.split())

    assert "orders -> pond: ISOLATED: permission denied; it needs the rows after checkpoint 4 (s0 at offset 17)" in text
    assert f"({rest.value.lower()})" in text and "(isolated)" in text
    assert text.count("remedy: grant it") == 1


def test_preview_shows_any_value(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """P3-F4: a date beyond the year 9999 ended `preview` with a trace; decimals inside of lists were Python's."""
    table = TableSchema(
        TablePath.parse("t"),
        (
            Column("d", parse_type("date")),
            Column("n", parse_type("array<decimal(5,2)>")),
            Column("b", parse_type("bytes")),
        ),
    )
    days = pa.array([2932897, None], pa.int32()).cast(pa.date32())
    rows = pa.Table.from_arrays(
        [days, pa.array([[Decimal("1.10")], None], table.arrow().field(1).type), pa.array([b"\x1b", None])],
        schema=table.arrow(),
    )
    monkeypatch.setattr(preview.app, "preview", lambda *_: iter([StepRows("s[t]", "Fake", table, rows)]))

    assert preview.preview(Path("job.conf"), {}, 10, as_json=False, masked=False) == 0

    out = capsys.readouterr().out
    assert "+10000-01-01" in out and "[1.10]" in out and "b'\\x1b'" in out and "null" in out
