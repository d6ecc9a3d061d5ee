"""Implements ``seatunnel doctor``: checks this machine, and names for each lack the command that mends it."""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from seatunnel_py import __version__
from seatunnel_py.cli.view.terminal import Styled, say, say_json
from seatunnel_py.errors import ExitCode
from seatunnel_py.runtime.storage.home import Home

MEMORY_MIN_GIB = 2
DISK_MIN_GIB = 1
_EXTRAS = {
    "postgres": ("adbc_driver_postgresql", "psycopg"),
    "mysql": ("connectorx", "pymysql"),
    "sqlalchemy": ("sqlalchemy",),
    "excel": ("python_calamine", "xlsxwriter"),
    "xml": ("lxml",),
    "http": ("httpx",),
    "kafka": ("confluent_kafka", "fastavro"),
    "protobuf": ("grpc_tools",),
}


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    """One check of the machine. ``needed`` findings decide the exit code; the others are for information."""

    what: str
    found: str
    good: bool
    remedy: str = ""
    needed: bool = True


def doctor(*, as_json: bool) -> int:
    """Check everything, and print one line each."""
    findings = [look() for look in _LOOKS] + _extras()
    if as_json:
        say_json([asdict(finding) for finding in findings])
    else:
        for finding in findings:
            mark = Styled("ok  ", "green") if finding.good else Styled("lack", "yellow")
            say(mark, f" {finding.what:14} {finding.found}")
            if not finding.good and finding.remedy:
                say(f"     {'':14} remedy: {finding.remedy}")
    return ExitCode.SUCCESS if all(finding.good for finding in findings if finding.needed) else ExitCode.FAILED


def _python() -> DoctorFinding:
    return DoctorFinding(
        "Python", f"{sys.version.split()[0]} ({sys.executable})", sys.version_info >= (3, 11), "use 3.11+"
    )


def _ours() -> DoctorFinding:
    return DoctorFinding("seatunnel-py", __version__, True)


def _java() -> DoctorFinding:
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    remedy = "install Java 17 or newer, on Debian: apt-get install -y openjdk-17-jre-headless"
    if program is None:
        return DoctorFinding("Java", "not found", False, remedy)
    try:
        shown = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=20, check=False).stderr
    except OSError as error:
        return DoctorFinding(
            "Java", f"{program}: {error.strerror}", False, "set JAVA_HOME to a Java 17 or newer, or unset it"
        )
    version = shown.partition('"')[2].partition('"')[0]
    major = int(version.split(".")[0]) if version.split(".")[0].isdigit() else 0
    return DoctorFinding("Java", f"{version or shown.strip()} ({program})", major >= 17, remedy)


def _memory() -> DoctorFinding:
    gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return DoctorFinding(
        "memory", f"{gib:.1f} GiB, {os.cpu_count()} cores", gib >= MEMORY_MIN_GIB, "give it 2 GiB or more"
    )


def _home() -> DoctorFinding:
    path = Home.of_environment().path
    remedy = "set SEATUNNEL_HOME to a writable directory with room"
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        free = shutil.disk_usage(path).free / 2**30
        writable = os.access(path, os.W_OK)
    except OSError as error:
        return DoctorFinding(
            "SEATUNNEL_HOME", f"{path}: {error.strerror}", False, "set SEATUNNEL_HOME to a writable directory"
        )
    good = writable and free >= DISK_MIN_GIB
    return DoctorFinding("SEATUNNEL_HOME", f"{path}, {free:.0f} GiB free", good, remedy)


def _loopback() -> DoctorFinding:
    """Spark's driver, its JVM and its workers communicate over loopback."""
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            return DoctorFinding("loopback", f"127.0.0.1:{server.getsockname()[1]} can be opened", True)
    except OSError as error:
        return DoctorFinding("loopback", str(error), False, "allow local processes to listen on 127.0.0.1")


def _extras() -> list[DoctorFinding]:
    found = []
    for extra, modules in _EXTRAS.items():
        missing = [module for module in modules if importlib.util.find_spec(module) is None]
        shown = "installed" if not missing else f"missing: {', '.join(missing)}"
        found.append(
            DoctorFinding(f"[{extra}]", shown, not missing, f"pip install 'seatunnel-py[{extra}]'", needed=False)
        )
    return found


_LOOKS: tuple[Callable[[], DoctorFinding], ...] = (_ours, _python, _java, _memory, _home, _loopback)
