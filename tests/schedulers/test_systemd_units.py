"""The units of systemd: valid, with commands that exist."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.schedulers.command_lines import require_command

UNITS = sorted((Path(__file__).parents[2] / "schedulers" / "systemd").iterdir())
PROGRAM = "/opt/seatunnel/bin/seatunnel"


SUBGROUPS_SINCE = 254
"""The first systemd that knows DelegateSubgroup."""


def systemd_version() -> int:
    done = subprocess.run(["systemd-analyze", "--version"], capture_output=True, text=True, timeout=60, check=True)
    return int(done.stdout.split()[1])


def verified(unit: Path, folder: Path) -> str:
    """The complaints of systemd about a unit, whose command is one of this machine. An older systemd gets the unit as
    the comment in it says: without the subgroup."""
    delegates = "" if systemd_version() < SUBGROUPS_SINCE else r"\g<0>"
    for other in UNITS:
        text = re.sub("^Delegate(Subgroup)?=.*\n", delegates, other.read_text(), flags=re.MULTILINE)
        (folder / other.name).write_text(text.replace(PROGRAM, sys.executable))
    command = ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", str(folder / unit.name)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return done.stdout + done.stderr + (f"exit code {done.returncode}" if done.returncode else "")


needs_systemd = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")


@needs_systemd
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_a_unit_is_valid(unit: Path, tmp_path: Path) -> None:
    assert verified(unit, tmp_path) == ""


@needs_systemd
@pytest.mark.parametrize("wrong", ["Restart=sometimes", "KillMode=everything", "Type=notice"])
def test_a_wrong_unit_is_found(wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check can fail."""
    unit = next(one for one in UNITS if one.name == "seatunnel-server.service")
    broken = tmp_path / "broken" / unit.name
    broken.parent.mkdir()
    broken.write_text(re.sub(rf"^{wrong.partition('=')[0]}=.*$", wrong, unit.read_text(), flags=re.MULTILINE))
    monkeypatch.setattr(sys.modules[__name__], "UNITS", [broken])
    assert "Failed to parse" in verified(unit, tmp_path)


@pytest.mark.parametrize("unit", [one for one in UNITS if one.suffix == ".service"], ids=lambda unit: unit.name)
def test_the_command_of_a_unit_exists_with_its_options(unit: Path) -> None:
    found = re.search(rf"^ExecStart={PROGRAM} (.*)$", unit.read_text(), flags=re.MULTILINE)
    assert found is not None
    require_command(found[1].replace("%i", "orders").split())


def test_a_restart_of_the_server_leaves_its_jobs_alone() -> None:
    """O1: And one job that needs too much memory does not end the others (U46)."""
    text = next(one.read_text() for one in UNITS if one.name == "seatunnel-server.service")
    assert {"KillMode=process", "OOMPolicy=continue", "PrivateTmp=no", "Type=notify"} <= set(text.splitlines())
