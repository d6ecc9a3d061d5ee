"""Where a pipeline is now, as a value."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class PipelineDiagnosis:
    """``waits``: sentences, causes first; ``blocked``: what targets say keeps them; ``busy``: something is under way
    that somebody waits for; ``moved``: seconds since a row did, None: none has yet; ``lag``: completed checkpoints
    whose rows are not committed yet."""

    table: str
    state: str
    checkpoint: int | None
    lag: int
    moved: float | None
    busy: bool
    waits: tuple[str, ...]
    blocked: tuple[str, ...] = ()

    def to_plain(self) -> dict[str, Any]:
        return asdict(self)
