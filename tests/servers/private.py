"""A private server: created from a template, started, stopped or killed, started again, removed."""

from __future__ import annotations

import abc
import contextlib
import hashlib
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar, Self

from tests.servers.ports import free_port
from tests.servers.process import (
    Account,
    ServerError,
    copy_template,
    server_directory,
    stop_process,
    template,
    wait_ready,
)
from tests.servers.process_tree import kill_tree

# Crash recovery after kill9 of a busy server counts as starting.
START_TIMEOUT_S = 120.0
PORT_TRIES = 3


class PrivateServer(abc.ABC):
    """One data directory and, while running, its process. Survives stop and start, and kill9 and start.

    `directory` is where it lives; without one, or where the account that the server must run as cannot
    reach it, the server makes a temporary directory and removes it on close().
    `durable=False` switches fsync off: a killed process loses nothing by that, only a power cut would.
    """

    kind: ClassVar[str]
    # Whom a server runs as that refuses root; None: it does not mind.
    accounts: ClassVar[tuple[str, ...] | None]
    stop_signal: ClassVar[signal.Signals]
    # What the log says when another process took the port between the choice and the start.
    port_taken: ClassVar[str]
    always: ClassVar[Mapping[str, str]]
    not_durable: ClassVar[Mapping[str, str]]

    def __init__(
        self,
        directory: Path | None = None,
        *,
        settings: Mapping[str, str] | None = None,
        durable: bool = False,
    ) -> None:
        self.account = Account.ours() if self.accounts is None else Account.choose(*self.accounts)
        self.directory = server_directory(directory, self.account, self.kind)
        self.temporary = directory is None or self.directory != directory.absolute()
        self.settings = {**self.always, **({} if durable else self.not_durable), **(settings or {})}
        self.port = 0
        self._log_start = 0
        self._process: subprocess.Popen[bytes] | None = None
        if not self.data.exists():
            copy_template(self._template(), self.data)

    @classmethod
    @contextlib.contextmanager
    def running(
        cls,
        directory: Path | None = None,
        *,
        settings: Mapping[str, str] | None = None,
        durable: bool = False,
    ) -> Iterator[Self]:
        server = cls(directory, settings=settings, durable=durable)
        try:
            server.start()
            yield server
        finally:
            server.close()

    @property
    def data(self) -> Path:
        return self.directory / "data"

    @property
    def log(self) -> Path:
        return self.directory / "server.log"

    @property
    def pid(self) -> int:
        if self._process is None:
            raise ServerError("the server is not running")
        return self._process.pid

    @property
    @abc.abstractmethod
    def dsn(self) -> str:
        """The address of the default database as a URL."""

    def start(self) -> None:
        """Start and wait until connections are accepted. The port stays the same over a restart."""
        if self._process is not None and self._process.poll() is None:
            return
        for tries_left in reversed(range(PORT_TRIES)):
            self.port = self.port or free_port()
            try:
                self._start_once()
            except ServerError as error:
                if not tries_left or self.port_taken not in str(error):
                    raise
                self.port = 0
            else:
                return

    def stop(self) -> None:
        """Orderly stop: open sessions are ended, everything is written."""
        if self._process is not None:
            stop_process(self._process, self.stop_signal)
            self._process = None

    def kill9(self) -> None:
        """The crash: the server and all its children die at once; start() then recovers from the log."""
        if self._process is not None:
            kill_tree(self._process)
            self._process = None

    def close(self) -> None:
        """End it, and remove the directory if the server made it: then nothing has to be written first."""
        if not self.temporary:
            self.stop()
            return
        self._abandon()
        shutil.rmtree(self.directory, ignore_errors=True)

    def _abandon(self) -> None:
        """End at once; what was not written is lost."""
        self.kill9()

    def _start_once(self) -> None:
        self._before_start()
        self._log_start = self.log.stat().st_size if self.log.exists() else 0
        self._process = self.account.spawn(self._command(), log=self.log, cwd=self.directory)
        wait_ready(self._process, self._is_ready, log=self.log, timeout_s=START_TIMEOUT_S)

    def _before_start(self) -> None:  # noqa: B027  (most servers tidy up themselves)
        """Remove what a crash left behind."""

    def _logged_since_start(self) -> str:
        with self.log.open("rb") as log:
            log.seek(self._log_start)
            return log.read().decode(errors="replace")

    def _template(self) -> Path:
        # A newer server in the same place gets a template of its own.
        parts = self._initialise_command(Path())
        stamp = f"{parts} {Path(parts[0]).stat().st_mtime_ns} {self.account.name}"
        key = hashlib.sha256(stamp.encode()).hexdigest()[:12]

        def fill(directory: Path) -> None:
            self.account.run(self._initialise_command(directory), cwd=directory)

        return template(self.kind, key, self.account, fill)

    @abc.abstractmethod
    def _initialise_command(self, directory: Path) -> list[str]:
        """The command that fills an empty data directory."""

    @abc.abstractmethod
    def _command(self) -> list[str]:
        """The command that runs the server in the foreground."""

    @abc.abstractmethod
    def _is_ready(self) -> bool: ...
