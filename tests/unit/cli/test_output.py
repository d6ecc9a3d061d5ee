"""What the commands print and write, and what they say where that cannot be done."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from seatunnel_py.cli.files import writing
from seatunnel_py.cli.receipt_view import receipt_text
from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.runtime.home import Home
from seatunnel_py.runtime.receipt import Receipt, Seconds, TableReceipt, TableState


@pytest.mark.parametrize("arguments", [["plugins", "show", "Jdbc"], ["plugins", "list", "--json"], ["check", "--help"]])
def test_a_full_disk_behind_stdout_is_told_in_one_line(arguments: list[str]) -> None:
    program = "from seatunnel_py.cli.main import main; main()"
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-c", program, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )

    assert ended.returncode == 1
    assert ended.stderr == "error: No space left on device: where the output goes\n"


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
