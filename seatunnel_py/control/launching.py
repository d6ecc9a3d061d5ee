"""Interface of launchers: how drivers are started, waited for and signalled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from seatunnel_py.api.process.egress.egress_rules import VARIABLE as EGRESS_VARIABLE
from seatunnel_py.control.store.intents import Intent, StartKind
from seatunnel_py.openlineage.settings import VARIABLES as LINEAGE_VARIABLES
from seatunnel_py.runtime.observe.driver_process import DriverProcess

PASSED = frozenset(
    {
        "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "JAVA_HOME", "SPARK_HOME",
        "PYSPARK_PYTHON", "JDK_JAVA_OPTIONS", "HADOOP_CONF_DIR", "YARN_CONF_DIR", "KUBECONFIG", "SSL_CERT_FILE",
        "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "SEATUNNEL_SECRETS_DIR", EGRESS_VARIABLE, *LINEAGE_VARIABLES,
    }
)  # fmt: skip
"""Variables of the server's environment that each driver gets, beside those that begin with ``LC_``."""


@dataclass(frozen=True, slots=True)
class Launch:
    """A driver to be started. ``command``: its arguments; ``directory``: its working directory; ``environment``: all of
    it; ``output``: the file that its standard output and error are appended to."""

    run: str
    command: Sequence[str]
    directory: Path
    environment: Mapping[str, str] = field(repr=False)
    output: Path


@dataclass(frozen=True, slots=True)
class ProcessEnd:
    """The end of a child. ``exit_code`` or ``signal`` is None. ``memory``: the facts about a kill by the kernel for
    lack of memory, empty: there are none."""

    run: str
    pid: int
    exit_code: int | None
    signal: int | None
    memory: str = ""


class LaunchError(Exception):
    """No process could be made; the text names the cause."""


class Launcher(Protocol):
    """Starts drivers as processes that outlive the server."""

    def spawn(self, launch: Launch) -> int:
        """Start a driver; return its pid. Raises LaunchError."""

    def ends(self) -> Sequence[ProcessEnd]:
        """Children that have ended since the last call. Drivers of an earlier server are not among them."""

    def child_of(self, run: str) -> int | None:
        """The pid of a child of this server that was started for the run and has not ended."""

    def signal(self, process: DriverProcess, number: int) -> bool:
        """Send a signal to exactly this process. False: it is not there any more."""

    def close(self) -> None:
        """End what has no job. Drivers go on."""


def command_of(intent: Intent, program: Sequence[str], file: Path) -> tuple[str, ...]:
    """The arguments of a driver. A restore leaves a driver that is alive alone, as ``jobs restore`` does: ``run
    --restore latest`` would take the run over from one that was started by hand at the same moment."""
    options = intent.options
    given = [word for name, value in sorted(options.variables.items()) for word in ("-i", quoted(name, value))]
    accepts = ["--accept-changes"] if options.accept_changes else []
    if intent.kind is StartKind.RESTORE:
        return (*program, "jobs", "restore", intent.run, "--file", str(file), *given, *accepts)
    only = [word for table in options.only for word in ("--only", table)]
    restore = ["--restore", options.restore, *accepts] if options.restore else []
    return (*program, "run", str(file), "--job-id", intent.run, *given, *only, *restore)


def replay_name(run: str) -> str:
    """The name of the process that delivers bad rows of a run: its jobs are ``RUN.replay1`` and so on."""
    return f"{run}.replay"


def quoted(name: str, value: str) -> str:
    """An argument of ``-i``, which separates at commas outside of double quotes."""
    return f'{name}="{value}"' if "," in value or value != value.strip() else f"{name}={value}"


def environment_of(own: Mapping[str, str], names: Sequence[str], home: Path) -> dict[str, str]:
    """The environment of a driver, from the server's ``own``: what all drivers get, and the variables of these
    ``names``, to which the definition refers."""
    chosen = {name: value for name, value in own.items() if name in PASSED or name.startswith("LC_") or name in names}
    return {**chosen, "SEATUNNEL_HOME": str(home)}
