"""Defines units and results: the messages from the driver to a worker and back.

A unit is atomic: it is applied wholly or not at all, and its result reports which. Results are plain data (JSON), for
they also go through journals, which outlive the process that wrote them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from seatunnel_py.api.batch import Plain, Position
from seatunnel_py.api.plain_data import STATE_BYTES_MAX, plain_data
from seatunnel_py.api.schema import TablePath
from seatunnel_py.api.sink import Piece
from seatunnel_py.api.source import Split
from seatunnel_py.redaction import masked_text, redacted_text


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of a unit: it stops at the first one that it reaches, at a batch boundary. No position of it takes more
    than ``state_bytes``."""

    rows: int = 500_000
    seconds: float = 5.0
    state_bytes: int = STATE_BYTES_MAX


@dataclass(frozen=True, slots=True, order=True)
class UnitId:
    """``sequence`` counts the units of a subtask; a second try of the same rows has the same id but ``attempt``."""

    vertex: str
    sequence: int
    epoch: int = 0
    attempt: int = 0
    subtask: int = 0

    def __str__(self) -> str:
        who = f"{self.vertex}/{self.subtask}" if self.subtask else self.vertex
        return f"{who}#{self.sequence}.e{self.epoch}.a{self.attempt}"


@dataclass(frozen=True, slots=True)
class Slice:
    """A batch on a channel: where its rows are. ``segment`` is a URL, ``index`` the record batch inside it; ``crc``
    covers all rows of the table in the segment, for any cut into batches. ``stopped``: instead of rows, why no more
    rows of the table come, with a remedy."""

    channel: str
    sequence: int
    table: TablePath
    segment: str
    index: int
    rows: int
    bytes: int
    crc: int = 0
    stopped: tuple[str, str] | None = None


def stopped_slice(channel: str, table: TablePath, message: str, remedy: str) -> Slice:
    """The last slice of a table whose log cannot be read on."""
    return Slice(channel, 0, table, "", 0, 0, 0, stopped=(message, remedy))


@dataclass(frozen=True, slots=True)
class Unit:
    """One atomic piece of work: read ``split`` from ``start`` (or ``slices``), through the vertex's chain. With
    ``until`` it reads exactly to that position, regardless of the budget: an earlier execution has numbered these
    ``until_rows`` rows.

    ``cost_seconds`` is the driver's estimate, used for packing only. ``deadline_seconds`` is hard. ``confirmed``: the
    position of the split in the oldest checkpoint that a restore may use, for readers that stay open.
    """

    id: UnitId
    split: Split | None = None
    start: Position | None = None
    slices: tuple[Slice, ...] = ()
    budget: Budget = field(default_factory=Budget)
    cost_seconds: float = 0.0
    deadline_seconds: float = 600.0
    until: Position | None = None
    until_rows: int | None = None
    confirmed: Position | None = None

    @property
    def is_relayed(self) -> bool:
        """Whether another unit has read the rows and checked their positions: a transform may have split one batch into
        several, all with the same end."""
        return False

    @property
    def data_id(self) -> str:
        """Names the rows, not the attempt: vertex, split and start position (design, section 6). The vertex is included
        because several sources may feed one sink, and each numbers its own splits."""
        vertex = self.id.vertex
        if self.split is None:
            first = self.slices[0] if self.slices else None
            return f"{vertex}/{first.channel}:{first.sequence}" if first else f"{vertex}/0"
        position = sorted(self.start.value.items()) if self.start else ()
        return f"{vertex}/{self.split.id}@" + ",".join(f"{key}={value}" for key, value in position)


class FailureKind(StrEnum):
    """RETRIABLE and FATAL are a plugin's own classification; UNEXPECTED is any other exception; LOST is a dead worker;
    DEADLINE is a unit that exceeded its time."""

    RETRIABLE = "retriable"
    FATAL = "fatal"
    UNEXPECTED = "unexpected"
    LOST = "lost"
    DEADLINE = "deadline"


@dataclass(frozen=True, slots=True)
class UnitFailure:
    """Why a unit failed: ``step`` is the failed step, ``trace`` is for the log, never for the terminal."""

    kind: FailureKind
    message: str
    remedy: str = ""
    step: str = ""
    error_type: str = ""
    trace: str = ""

    def __post_init__(self) -> None:
        """Mask secrets when a worker's text is read: the driver knows the secrets of its jobs, workers do not."""
        object.__setattr__(self, "message", redacted_text(self.message))
        object.__setattr__(self, "remedy", masked_text(self.remedy))
        object.__setattr__(self, "trace", redacted_text(self.trace))


QUARANTINE = "(quarantine)"
"""Stands for the sink step of a piece that names bad rows: they are committed like the staged pieces of sinks."""


@dataclass(frozen=True, slots=True)
class SinkPiece:
    """A piece with its commit scope: (sink step, upstream table)."""

    step: str
    table: TablePath
    piece: Piece


@dataclass(frozen=True, slots=True)
class StepCount:
    """Rows through one step of a chain: in = out + filtered + rejected, unless the step changes cardinality."""

    step: str
    table: TablePath
    rows_in: int = 0
    rows_out: int = 0
    rejected: int = 0


@dataclass(frozen=True, slots=True)
class UnitResult:
    """Result of a unit. ``next`` is where the split continues; None with ``done`` means that it was read to its end."""

    id: UnitId
    done: bool = True
    next: Position | None = None
    rows: int = 0
    bytes: int = 0
    seconds: float = 0.0
    first_row_at: float = 0.0
    pieces: tuple[SinkPiece, ...] = ()
    slices: tuple[Slice, ...] = ()
    counts: tuple[StepCount, ...] = ()
    failure: UnitFailure | None = None
    events: tuple[tuple[str, Plain], ...] = ()
    """Events from its reader to the enumerator, each with the split's id."""
    altered: tuple[Mapping[str, Any], ...] = ()
    """Changes of tables' schemas at its end (``SchemaAlteration``): the split is read on under these."""

    def to_plain(self) -> dict[str, Any]:
        """Convert to JSON-ready data; the inverse of :func:`result_from_plain`."""
        plain: dict[str, Any] = plain_data(self)
        return plain


def result_from_plain(data: Mapping[str, Any]) -> UnitResult:
    """Parse the output of ``UnitResult.to_plain``."""
    failure = data["failure"]
    return UnitResult(
        id=UnitId(**data["id"]),
        done=data["done"],
        next=Position(**data["next"]) if data["next"] else None,
        rows=data["rows"],
        bytes=data["bytes"],
        seconds=data["seconds"],
        first_row_at=data["first_row_at"],
        pieces=tuple(
            SinkPiece(item["step"], TablePath(**item["table"]), Piece(**item["piece"])) for item in data["pieces"]
        ),
        slices=tuple(Slice(**{**item, "table": TablePath(**item["table"])}) for item in data["slices"]),
        counts=tuple(StepCount(**{**item, "table": TablePath(**item["table"])}) for item in data["counts"]),
        failure=UnitFailure(**{**failure, "kind": FailureKind(failure["kind"])}) if failure else None,
        events=tuple((split, event) for split, event in data.get("events", ())),
        altered=tuple(data.get("altered", ())),
    )
