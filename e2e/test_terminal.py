"""P4-F3: what data, names, job files and servers say is shown on a terminal, and steers it nowhere."""

from __future__ import annotations

import os
import pty
import re
import sqlite3
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from e2e.support import IN_PROCESS, write_job

CLEAR, TITLE, CSI, TURNED = "\x1b[2J", "\x1b]0;pwn\x07", "\x9b2J", "\u202etxt"
HOSTILE = f"v{CLEAR}{TITLE}{CSI}{TURNED}"
RAW = re.compile("\x1b\\[2J|\x1b\\]|\x07|\x9b|\u202e")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A table whose name, column and row are hostile, into one whose trigger says such a thing, and onto the console."""
    with sqlite3.connect(tmp_path / "source.db") as source:
        source.execute(f'CREATE TABLE "x{CLEAR}y" (id INTEGER PRIMARY KEY, "c{TITLE}" TEXT)')
        source.execute(f'INSERT INTO "x{CLEAR}y" VALUES (1, ?)', [HOSTILE])
    with sqlite3.connect(tmp_path / "target.db") as target:
        target.execute(f'CREATE TABLE t (id INTEGER PRIMARY KEY, "c{TITLE}" TEXT)')
        target.execute(f"CREATE TRIGGER no BEFORE INSERT ON t BEGIN SELECT RAISE(ABORT, 'no {HOSTILE}'); END")
    named = HOSTILE.encode("unicode_escape").decode().replace("\\x", "\\u00")
    write_job(
        tmp_path,
        f"""
        env {{ job.name = "{named}", job.retry.times = 0 }}
        source {{ Jdbc {{ url = "jdbc:sqlite:source.db", driver = sqlite, plugin_output = read, use_regex = true,
                          table_path = "main\\\\.x.*" }} }}
        sink {{
          Console {{ plugin_input = read }}
          Jdbc {{ url = "jdbc:sqlite:target.db", driver = sqlite, plugin_input = read, generate_sink_sql = true, table = t }}
        }}
        """,
    )
    return tmp_path


def on_a_terminal(home: Path, *words: str) -> str:
    """What a command writes to a terminal, to both of its streams."""
    terminal, theirs = pty.openpty()
    environment = {**os.environ, "SEATUNNEL_HOME": str(home / ".seatunnel"), "TERM": "xterm-256color", "COLUMNS": "200"}
    process = subprocess.Popen(
        [*IN_PROCESS, *words], cwd=home, env=environment, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    data = b""
    with suppress(OSError):  # EIO: nobody writes any more
        while chunk := os.read(terminal, 65536):
            data += chunk
    os.close(terminal)
    process.wait(60)
    return data.decode()


@pytest.mark.parametrize("piped", [False, True])
def test_no_command_passes_on_what_steers_a_terminal(home: Path, piped: bool) -> None:
    """T9: Cells and heads of `preview`, the Console sink, lines and receipt of `run`, `jobs show`, `plan`, `discover`."""
    commands = {
        "preview": ("preview", "job.conf"),
        "plan": ("plan", "job.conf"),
        "discover": ("discover", "job.conf"),
        "check": ("check", "job.conf"),
        "run": ("run", "job.conf", "--job-id", "job"),
        "jobs show": ("jobs", "show", "job"),
        "jobs list": ("jobs", "list"),
        "state show": ("state", "show", "job"),
    }
    for name, words in commands.items():
        said = piped_out(home, *words) if piped else on_a_terminal(home, *words)
        rest = [line for line in said.splitlines() if "SeaTunnelRow#" not in line and "rowType" not in line]
        found = RAW.search("\n".join(rest) if piped else said)
        assert found is None, (name, said)
        if name in ("preview", "plan", "discover", "jobs show"):
            assert "x\\x1b[2Jy" in said, (name, said)
        if name == "run":
            assert "no v\\x1b[2J\\x1b]0;pwn" in said
            row = next(line for line in said.splitlines() if "SeaTunnelRow#" in line)
            assert (HOSTILE if piped else "v\\x1b[2J\\x1b]0;pwn") in row, "a pipe gets the value as it is"


def piped_out(home: Path, *words: str) -> str:
    environment = {**os.environ, "SEATUNNEL_HOME": str(home / ".seatunnel")}
    said = subprocess.run(
        [*IN_PROCESS, *words], cwd=home, env=environment, capture_output=True, timeout=60, check=False
    )
    return said.stdout.decode() + said.stderr.decode()


def test_only_one_module_writes_to_the_terminal() -> None:
    """Whoever writes a command finds `say` there; JSON has its own escapes."""
    import seatunnel_py.cli as package

    others = [path for path in Path(package.__file__).parent.glob("*.py") if path.name != "terminal.py"]
    direct = re.compile(r"typer\.(echo|secho|style)\(|\bprint\(|sys\.std(out|err)\.write")
    found = [path.name for path in others if direct.search(re.sub(r"console\.print\(", "", path.read_text()))]
    assert found == [] and sys.modules[package.__name__] is package
