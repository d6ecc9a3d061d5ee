"""The diagnosis of a pipeline, as a value."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from seatunnel_py.api.log_source import LogLag


@dataclass(frozen=True, slots=True)
class PipelineDiagnosis:
    """``waits``: sentences, causes first; ``blocked``: locks reported by targets; ``busy``: work is in progress;
    ``moved``: seconds since the last row, None: no row yet; ``lag``: number of completed checkpoints
    whose rows are not committed yet; ``log_lag``: of the log that it follows."""

    table: str
    state: str
    checkpoint: int | None
    lag: int
    moved: float | None
    busy: bool
    waits: tuple[str, ...]
    blocked: tuple[str, ...] = ()
    log_lag: LogLag | None = None

    def to_plain(self) -> dict[str, Any]:
        return asdict(self)
