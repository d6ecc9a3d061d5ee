"""The quarantine of a job: bad rows of committed checkpoints, and their replays.

Rules. (1) A file of bad rows counts when a manifest names it. The commit of a checkpoint writes the manifest
atomically, under a name derived from its content, so that writing it again has no effect (I28). (2) Staged files
without a manifest are deleted when the job cannot resume any more (I33). (3) A replay first claims its files: a later
call continues that replay, or takes unclaimed files. Rows that fail again are committed here again. (4) A row waits
until a replay of its file has succeeded. Rows that no reader could decode always wait, because no replay reads them.

::

    staged/LINEAGE-NAME.segment      the bad rows of one unit (``work.quarantine``)
    committed/JOB-CHECKPOINT-….json  names of files
    replays/00001.json               a replay: its job, and the files that it delivers
    replays/00001.done               it has delivered them
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from seatunnel_py.api.process.private_files import make_private
from seatunnel_py.config.env import EnvOptions
from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.nouns import counted
from seatunnel_py.runtime.observe.receipt import TableReceipt
from seatunnel_py.runtime.storage.local_storage import LocalStorage
from seatunnel_py.runtime.values.chain_builder import JobIdentity
from seatunnel_py.work.bad_rows.limits import STAGED, ErrorLimits, own_prefix
from seatunnel_py.work.unit import SinkPiece

COMMITTED, REPLAYS = "committed", "replays"
_REPLAY = re.compile(r"(\.replay\d+)+$")


def limits_of(env: EnvOptions, jobs: Path, job_id: str) -> ErrorLimits | None:
    """The limits of ``env`` for bad rows; None: none allowed. ``jobs``: parent of all job directories."""
    limits = ErrorLimits(str(location_of(env.error_location, jobs, job_id)), *env.bad_rows_allowed)
    if not limits.any_allowed:
        return None
    for name in (STAGED, COMMITTED):
        make_private(Path(limits.location) / name)
    return limits


def location_of(given: str | None, jobs: Path, job_id: str) -> Path:
    """The directory of a job's quarantine: its own, or one below ``error.location``. A replay uses that of the replayed
    job. Raises SeaTunnelError if it is not a directory."""
    owner = owner_of(job_id)
    if given is None:
        return jobs / owner / "quarantine"
    parts = urlsplit(given)
    if parts.scheme not in ("", "file"):
        raise SeaTunnelError(f"error.location: {given} is not a directory", "name one that all machines share")
    return Path(unquote(parts.path) if parts.scheme else given).absolute() / owner


def owner_of(job_id: str) -> str:
    """The job whose quarantine this job uses: itself, or the one that it replays."""
    return _REPLAY.sub("", job_id)


def is_owner(job_id: str) -> bool:
    """Return True if a job has its own quarantine; a replay has none."""
    return _REPLAY.search(job_id) is None


def commit(pieces: Sequence[SinkPiece], job: JobIdentity, checkpoint: int) -> None:
    """Write the manifest of a checkpoint's bad rows."""
    by_place: dict[str, dict[str, tuple[str, str, int]]] = {}
    for piece in pieces:
        name = str(piece.piece.data["file"])
        by_place.setdefault(str(piece.piece.data["location"]), {})[name] = (name, str(piece.table), piece.piece.rows)
    for location, files in by_place.items():
        digest = sha256(repr(sorted(files)).encode()).hexdigest()
        about = {"job": job.job_id, "checkpoint": checkpoint, "at": time.time(), "files": sorted(files.values())}
        name = f"{COMMITTED}/{job.job_id}-{checkpoint:08}-{digest[:16]}.json"
        LocalStorage(Path(location)).create(name, json.dumps(about).encode())


@dataclass(frozen=True, slots=True)
class QuarantineFile:
    """A committed file of bad rows. ``replay``: the job that replays its decoded rows; ``delivered``: it has
    succeeded."""

    path: Path
    table: str
    rows: int
    job: str
    checkpoint: int
    replay: str = ""
    delivered: bool = False

    @property
    def undecoded(self) -> int:
        """Number of rows that no reader could decode."""
        return _undecoded(self.path)

    @property
    def decoded(self) -> int:
        """Number of rows that a replay reads."""
        return self.rows - self.undecoded

    @property
    def waiting(self) -> int:
        """Number of rows that were not delivered."""
        return self.undecoded if self.delivered else self.rows


def held(location: Path, finished: Callable[[str], bool] = lambda job: False) -> tuple[QuarantineFile, ...]:
    """All committed files, each once, in the order of commits. ``finished``: returns True for a job that has succeeded.
    Until a replay has succeeded, its rows stay in the original files."""
    claims = {name: one for one in replays(location) for name in one["files"]}
    done = {str(one["job"]): bool(one["done"]) or finished(str(one["job"])) for one in claims.values()}
    found = []
    for name, (table, rows, job, checkpoint) in _committed(location).items():
        if not done.get(job, True):
            continue
        path = location / STAGED / name
        replay = str(claims[name]["job"]) if name in claims else ""
        found.append(QuarantineFile(path, table, rows, job, checkpoint, replay, done.get(replay, False)))
    return tuple(found)


def _committed(location: Path) -> dict[str, tuple[str, int, str, int]]:
    """By file name: table, number of rows, and the job and checkpoint of the commit."""
    found: dict[str, tuple[str, int, str, int]] = {}
    manifests = [_read(path) for path in sorted((location / COMMITTED).glob("*.json"))]
    for one in sorted(manifests, key=lambda manifest: manifest["at"]):
        for name, table, rows in one["files"]:
            found.setdefault(name, (table, rows, one["job"], one["checkpoint"]))
    return found


@cache
def _undecoded(path: Path) -> int:
    """Number of undecoded rows in a committed file, cached because such files never change."""
    from seatunnel_py.work.bad_rows.quarantine_file import read  # with Arrow, which other drivers do not need

    try:
        return sum(bad.batch.rows for _, bad in read(str(path)) if bad.raw)
    except FileNotFoundError:
        raise SeaTunnelError(f"bad rows are lost: {path} is missing", "restore it from a copy") from None


def replays(location: Path) -> Iterator[Mapping[str, Any]]:
    """All started replays, in order; ``done``: it has delivered its rows."""
    for path in sorted((location / REPLAYS).glob("[0-9]*.json")):
        yield {**_read(path), "done": path.with_suffix(".done").exists()}


def end(location: Path, replay: str) -> None:
    """Mark a replay as done."""
    for path in (location / REPLAYS).glob("[0-9]*.json"):
        if _read(path)["job"] == replay:
            LocalStorage(location).create(f"{REPLAYS}/{path.stem}.done", b"")


def claim(location: Path, job: str, files: Sequence[QuarantineFile]) -> str:
    """Start a replay of these files, and return its job id. Raises SeaTunnelError if another one has just started."""
    number = sum(1 for _ in replays(location)) + 1
    replay = f"{job}.replay{number}"
    about = {"job": replay, "at": time.time(), "files": [one.path.name for one in files]}
    if not LocalStorage(location).create(f"{REPLAYS}/{number:05}.json", json.dumps(about).encode()):
        raise SeaTunnelError(f"another replay of {job} has just begun", "let it end, and try again")
    return replay


def notes(job_id: str, tables: Iterable[TableReceipt]) -> Iterator[str]:
    """Notes for the receipt: tables with quarantined rows, and their location."""
    for table in tables:
        if table.rows_rejected:
            owner = owner_of(job_id)
            were = "was" if table.rows_rejected == 1 else "were"
            bad = counted(table.rows_rejected, "bad row")
            yield f"{bad} of {table.table} {were} set aside: `seatunnel quarantine show {owner}`"


def sweep(location: Path, lineage: str) -> None:
    """Delete the uncommitted files of a job that cannot resume."""
    named = _committed(location)
    for path in (location / STAGED).glob(f"{own_prefix(lineage)}*"):
        if path.name not in named:
            path.unlink(missing_ok=True)


def _read(path: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(path.read_bytes())
    except ValueError as error:
        raise SeaTunnelError(f"{path} is damaged: {error}", "restore it from a copy") from None
    return found
