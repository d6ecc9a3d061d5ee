"""Makes the launch of a driver: the file of its revision, its working directory, and its environment."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from seatunnel_py.api.process.private_files import make_private
from seatunnel_py.config.shade import REFERENCE
from seatunnel_py.control.definition_text import definition_file
from seatunnel_py.control.launching import Launch, command_of, environment_of, quoted, replay_name
from seatunnel_py.control.store import definitions
from seatunnel_py.control.store.database import Database
from seatunnel_py.control.store.intents import Intent
from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.runtime.storage.job_directory import replace_file

PROGRAM = (sys.executable, "-m", "seatunnel_py")


@dataclass(frozen=True, slots=True)
class DriverFiles:
    """``environment``: the server's own; ``passed``: names of its variables that definitions may refer to, None: all of
    them."""

    database: Database
    home: Path
    environment: Mapping[str, str]
    passed: frozenset[str] | None = None
    program: Sequence[str] = PROGRAM

    def launch_of(self, intent: Intent) -> Launch:
        """The launch of an intent. Raises SeaTunnelError."""
        file, directory, referred = self.prepared(intent.definition, intent.revision)
        names = [*intent.options.environment, *referred]
        return Launch(
            intent.run,
            command_of(intent, self.program, file),
            directory,
            environment_of(self.environment, names, self.home),
            output_file(self.home, intent.run),
        )

    def replay_of(self, last: Intent, revision: int, table: str) -> Launch:
        """The launch of a delivery of bad rows of a run, through a revision of its definition. Raises
        SeaTunnelError."""
        file, directory, referred = self.prepared(last.definition, revision)
        given = [word for name, value in sorted(last.options.variables.items()) for word in ("-i", quoted(name, value))]
        tables = [f"--table={table}"] if table else []
        command = (*self.program, "quarantine", "replay", last.run, "--file", str(file), *given, *tables)
        names = [*last.options.environment, *referred]
        environment = environment_of(self.environment, names, self.home)
        name = replay_name(last.run)
        return Launch(name, command, directory, environment, output_file(self.home, name))

    def prepared(self, definition: str, revision: int) -> tuple[Path, Path, Sequence[str]]:
        """The file of a revision, which is written if it is not there; its working directory; and the names of
        variables that it refers to. Raises SeaTunnelError."""
        with self.database.reading() as connection:
            found = definitions.revision(connection, definition, revision)
            directory = definitions.directory(connection, definition)
        file = definition_file(self.home, definition, revision)
        try:
            make_private(file.parent)
            if not file.exists() or file.read_text() != found.text:
                replace_file(file, found.text)
        except OSError as error:
            raise SeaTunnelError(f"cannot write {file}: {error.strerror or error}", "make room there") from None
        return file, Path(directory) if directory else file.parent, self._referred(found.text)

    def _referred(self, text: str) -> Sequence[str]:
        names = sorted({match[2].strip() for match in REFERENCE.finditer(text) if match[1] == "env"})
        refused = [name for name in names if self.passed is not None and name not in self.passed]
        if refused:
            raise SeaTunnelError(
                f"the definition refers to {', '.join(refused)}, which this server does not pass on",
                "name it among the variables that the server passes on",
            )
        return names


def output_file(home: Path, run: str) -> Path:
    """Standard output and error of the drivers of a run. A driver makes the directory of its run itself, because that
    decides which one has it, so its output begins elsewhere."""
    return home / "server" / "output" / f"{run}.log"


def own_environment() -> Mapping[str, str]:
    """The environment of this process."""
    return dict(os.environ)
