"""The record of a unit in its target, by which rows of several attempts count once, in every dialect.

A unit that repeats an earlier attempt ends where that one ended (``api.Reached``): if the target already has
the rows, it writes nothing, and the earlier counts are valid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from seatunnel_py.api import FatalError, Piece, Plain, Position, Reached, RetriableError, WriteContext


@dataclass(frozen=True, slots=True)
class RecordedUnit:
    """A unit that the target holds: what the sink was given, and how many rows of the source were ``read`` for it."""

    rows: int
    bytes: int
    merged: int
    end: Plain
    read: int = 0

    @property
    def reached(self) -> Reached:
        return Reached(self.read, None if self.end is None else Position.of(self.end))

    def check_same(self, rows: int, shown: str) -> None:
        """An attempt that read other rows cannot be followed up from here: the next unit would begin before its
        end."""
        if self.rows != rows:
            raise RetriableError(
                f"table {shown}: it holds {self.rows} rows of this unit already, but this attempt read {rows}",
                "a source that gives other rows when it is read again needs exactly_once_recipe = staged",
            )

    def piece(self, context: WriteContext, *, replayed: bool, staged: str = "") -> Piece:
        """``contested``: other attempts at these rows may still be at work, so that the record must stay."""
        data: dict[str, Plain] = {
            "data_id": context.data_id, "end": self.end, "replayed": replayed, "staged": staged,
            "contested": replayed or context.attempt > 0,
            "vertex": context.vertex, "life": [context.incarnation, context.epoch],
        }  # fmt: skip
        return Piece(self.rows, self.bytes, self.merged, data)


def of_job(job_id: str, step: str, table: str) -> str:
    """Owner of a set-up's record, by which a run without a commit is recognised as the job's."""
    return "job " + blake2b("\0".join((job_id, step, table)).encode(), digest_size=12).hexdigest()


def data_ids(pieces: Sequence[Piece]) -> list[str]:
    """The units that pieces are of."""
    return sorted({str(piece.data["data_id"]) for piece in pieces})


def lives(pieces: Sequence[Piece]) -> dict[str, tuple[int, int]]:
    """The newest execution (incarnation, epoch) of each vertex that staged one of these pieces."""
    found: dict[str, tuple[int, int]] = {}
    for piece in pieces:
        vertex = str(piece.data["vertex"])
        life: Any = piece.data["life"]
        found[vertex] = max(found.get(vertex, (0, 0)), (int(life[0]), int(life[1])))
    return found


def fenced_off(shown: str) -> FatalError:
    """The answer to a writer whose time is over."""
    return FatalError(
        f"table {shown}: a newer run or attempt of this job writes to it; this one is fenced off",
        "nothing is to be done: the newer one goes on",
    )
