"""What a target remembers of a unit: by it the rows of several attempts count once, in every dialect alike.

An attempt skips the rows that an earlier one has committed. Where those are all of its rows it applies nothing, and the
earlier counts are the truth; where more have come since, it appends them and replaces the record by a fuller one.
"""

from __future__ import annotations

from dataclasses import dataclass

from seatunnel_py.api import FatalError, Piece, Plain, Position, RetriableError


@dataclass(frozen=True, slots=True)
class Recorded:
    """A unit that the target holds."""

    rows: int
    bytes: int
    merged: int
    end: Plain

    def covers(self, rows: int, before: int) -> int:
        """How many of the next ``rows`` rows are among these, when ``before`` came ahead of them: all, where a split
        is only ever read whole."""
        return rows if self.end is None else max(0, min(self.rows - before, rows))

    def check_same(self, rows: int, shown: str) -> None:
        """An attempt that read other rows cannot be followed up from here: the next unit would begin before its
        end."""
        if self.rows != rows:
            raise RetriableError(
                f"table {shown}: it holds {self.rows} rows of this unit already, but this attempt read {rows}"
            )

    def piece(self, data_id: str, *, replayed: bool) -> Piece:
        data: dict[str, Plain] = {"data_id": data_id, "end": self.end, "replayed": replayed}
        return Piece(self.rows, self.bytes, self.merged, data)


def position_plain(end: Position | None) -> Plain:
    """A position as it stands in a unit's record."""
    return None if end is None else {"value": dict(end.value), "generation": end.generation, "version": end.version}


def fenced_off(shown: str) -> FatalError:
    """The answer to a writer whose time is over."""
    return FatalError(
        f"table {shown}: a newer run or attempt of this job writes to it; this one is fenced off",
        "nothing is to be done: the newer one goes on",
    )
