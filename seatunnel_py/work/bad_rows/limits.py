"""Defines how many bad rows a table may have, and where they are kept. Pure.

Rules. (1) A limit of 0 is not set; if none is set no row may be bad, and if both are set both hold. (2) A share refers
to the rows read so far, but to RATIO_ROWS_MIN at least: one bad row at the beginning is not "all of them". At the end
of the input the share is exact.
"""

from __future__ import annotations

from dataclasses import dataclass

RATIO_ROWS_MIN = 10_000
STAGED = "staged"
"""The folder of the location to which workers write."""
REPLAYED = "(quarantine) "
"""Prefix of the name of a source before the step at which its rows enter again."""


@dataclass(frozen=True, slots=True)
class ErrorLimits:
    """``location`` is the directory of the job's quarantine, which workers and driver share."""

    location: str
    max_rows: int = 0
    max_ratio: float = 0.0

    @property
    def any_allowed(self) -> bool:
        return self.max_rows > 0 or self.max_ratio > 0

    def most(self, rows: int, *, ended: bool = False) -> int:
        """How many of ``rows`` rows read may be bad."""
        share = int(self.max_ratio * (rows if ended else max(rows, RATIO_ROWS_MIN)))
        if not self.max_ratio:
            return self.max_rows
        return min(self.max_rows, share) if self.max_rows else share

    def __str__(self) -> str:
        parts = [f"error.max-rows = {self.max_rows}"] if self.max_rows or not self.max_ratio else []
        parts += [f"error.max-ratio = {self.max_ratio:g}"] if self.max_ratio else []
        return " and ".join(parts)


def own_prefix(lineage: str) -> str:
    """Common prefix of the names of all files that the workers of a job write."""
    return f"{lineage[:12]}-"
