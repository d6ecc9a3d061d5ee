"""What every private server shares: whom it runs as, where its programs are, its process and its template.

Database servers refuse to run as root, and a test run in a container usually is root: then the server runs
under an unprivileged account that owns its directory.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.servers.process_tree import kill_tree

POLL_S = 0.02
STOP_TIMEOUT_S = 60.0


class ServerError(RuntimeError):
    """A private server could not be started, reached or stopped."""


class ServerMissing(ServerError):
    """The programs of a server are not installed."""

    def __init__(self, program: str, package: str) -> None:
        super().__init__(
            f"{program} is not installed (package {package}). "
            f"As root: python -m tests.servers.install; otherwise: sudo apt-get install {package}"
        )
        self.program = program
        self.package = package


@dataclass(frozen=True, slots=True)
class Account:
    """The operating-system user that a server runs as; None in both ids means ourselves."""

    name: str
    uid: int | None
    gid: int | None

    @classmethod
    def ours(cls) -> Account:
        return cls(pwd.getpwuid(os.geteuid()).pw_name, None, None)

    @classmethod
    def choose(cls, *preferred: str) -> Account:
        if os.geteuid() != 0:
            return cls.ours()
        for name in (*preferred, "nobody"):
            with contextlib.suppress(KeyError):
                entry = pwd.getpwnam(name)
                return cls(name, entry.pw_uid, entry.pw_gid)
        raise ServerError(f"no unprivileged account to run a server as: tried {preferred} and nobody")

    def own(self, root: Path) -> None:
        """Give a directory and all below it to the account."""
        if self.uid is None or self.gid is None:
            return
        os.chown(root, self.uid, self.gid)
        for path in root.rglob("*"):
            os.chown(path, self.uid, self.gid, follow_symlinks=False)

    def reaches(self, directory: Path) -> bool:
        """Whether the account may walk down to the directory: pytest's tmp_path is open to its owner only."""
        if self.uid is None:
            return True
        for part in (directory, *directory.parents):
            if part.exists() and not part.stat().st_mode & stat.S_IXOTH and part.stat().st_uid != self.uid:
                return False
        return True

    def spawn(self, command: list[str], *, log: Path, cwd: Path) -> subprocess.Popen[bytes]:
        with log.open("ab") as out:
            return subprocess.Popen(
                command, cwd=cwd, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                start_new_session=True, env=server_environment(), **self._identity(),
            )  # fmt: skip

    def run(self, command: list[str], *, cwd: Path) -> None:
        done = subprocess.run(
            command, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, check=False, env=server_environment(), **self._identity(),
        )  # fmt: skip
        if done.returncode:
            raise ServerError(f"{Path(command[0]).name} failed ({done.returncode}):\n{done.stdout[-2000:]}")

    def _identity(self) -> dict[str, Any]:
        if self.uid is None:
            return {}
        return {"user": self.uid, "group": self.gid, "extra_groups": []}


def server_environment() -> dict[str, str]:
    """The caller's environment without what would steer a server or its client elsewhere."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PG", "MYSQL_", "MARIADB_"))}
    return kept | {"LC_ALL": "C.UTF-8", "HOME": "/tmp"}


def find_program(name: str, package: str, elsewhere: Iterable[Path] = ()) -> Path:
    """The program on PATH or in one of the given folders, newest folder first."""
    for folder in elsewhere:
        if (folder / name).is_file():
            return folder / name
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/local/sbin:/sbin")
    if found is None:
        raise ServerMissing(name, package)
    return Path(found).resolve()


PLACE_VARIABLE = "SEATUNNEL_TEST_SERVERS"
"""The directory of temporary servers. In memory, a server that makes and drops hundreds of databases takes half of the
time: ext4 looks at every inode that was freed in the last minutes before it gives one away."""


def server_directory(wanted: Path | None, account: Account, kind: str) -> Path:
    """The wanted directory, or a temporary one where none is wanted or the account cannot reach it."""
    if wanted is not None:
        wanted = wanted.absolute()
        wanted.mkdir(parents=True, exist_ok=True)
        if account.reaches(wanted):
            account.own(wanted)
            return wanted
    made = Path(tempfile.mkdtemp(prefix=f"seatunnel-{kind}-", dir=os.environ.get(PLACE_VARIABLE) or None))
    account.own(made)
    return made


def template(kind: str, key: str, account: Account, fill: Callable[[Path], None]) -> Path:
    """An initialised data directory, made once per machine and version, to be copied for each server."""
    cache = Path(tempfile.gettempdir()) / f"seatunnel-servers-{os.geteuid()}"
    cache.mkdir(mode=0o711, exist_ok=True)
    if cache.stat().st_uid != os.geteuid():
        raise ServerError(f"{cache} belongs to someone else; remove it or set TMPDIR")
    ready = cache / f"{kind}-{key}"
    if ready.is_dir():
        return ready
    building = Path(tempfile.mkdtemp(prefix=f"{kind}-", dir=cache))
    account.own(building)
    fill(building)
    try:
        building.rename(ready)
    except OSError:  # another process was faster; its template is as good as ours
        shutil.rmtree(building, ignore_errors=True)
        if not ready.is_dir():
            raise
    return ready


def copy_template(source: Path, target: Path) -> None:
    """Copy a template with owners and modes; shares blocks where the file system can."""
    subprocess.run(["cp", "-a", "--reflink=auto", str(source), str(target)], check=True)


def wait_ready(process: subprocess.Popen[bytes], ready: Callable[[], bool], *, log: Path, timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    while not ready():
        if process.poll() is not None:
            raise ServerError(f"the server ended at once ({process.returncode}):\n{log_tail(log)}")
        if time.monotonic() > deadline:
            kill_tree(process)
            raise ServerError(f"the server was not ready after {timeout_s:.0f} s:\n{log_tail(log)}")
        time.sleep(POLL_S)


def log_tail(log: Path, size: int = 2000) -> str:
    return log.read_text(errors="replace")[-size:] if log.exists() else "(no log)"


def stop_process(process: subprocess.Popen[bytes], how: signal.Signals) -> None:
    """Ask the server to end; one that does not is killed and reported."""
    if process.poll() is not None:
        return
    process.send_signal(how)
    try:
        process.wait(STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        kill_tree(process)
        raise ServerError(f"the server did not stop within {STOP_TIMEOUT_S:.0f} s of {how.name}") from None
