"""What a plugin can do, declared as data: the planner, the documentation and the test kit all read this."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum, StrEnum


class Guarantee(IntEnum):
    """What a sink can promise, weakest first, so that ``min`` combines along a path."""

    AT_LEAST_ONCE = 1
    IDEMPOTENT = 2
    TWO_PHASE_COMMIT = 3

    @property
    def text(self) -> str:
        return ("at-least-once", "exactly-once (idempotent by key)", "exactly-once (two-phase commit)")[self - 1]


class Determinism(IntEnum):
    """How far a second reading or computing gives the same (SPARK-23243), weakest first."""

    INDETERMINATE = 1
    UNORDERED = 2
    DETERMINATE = 3


class Cardinality(StrEnum):
    """How many rows a transform gives for the rows that it gets; ``ANY`` is reported, the others are checked."""

    ONE_TO_ONE = "one-to-one"
    FILTER = "filter"
    ANY = "any"


@dataclass(frozen=True, slots=True)
class SourceCapabilities:
    """``determinism`` has no default, for the guarantee of every path of the source rests on it.
    ``independent_tables``: each table has splits of its own, so each gets a pipeline of its own.
    ``resident``: units keep their connection and a slot until told to stop."""

    bounded: bool = True
    replayable: bool = True
    determinism: Determinism = field(kw_only=True)
    parallel: bool = True
    independent_tables: bool = True
    resident: bool = False


@dataclass(frozen=True, slots=True)
class TransformCapabilities:
    """What a transform does to the number of rows, and whether it does the same again.

    ``keeps_keys``: values of key columns come out as they went in, and no row twice, so that a key which the source
    proved unique still is; a sink may then load without looking.
    """

    determinism: Determinism = Determinism.DETERMINATE
    cardinality: Cardinality = Cardinality.ONE_TO_ONE
    keeps_keys: bool = False


@dataclass(frozen=True, slots=True)
class SinkCapabilities:
    """``why`` explains the guarantee in a phrase ("the table has no key").
    ``spans_tables``: the sink's outcome is decided over all tables together, so they share a pipeline.
    ``fenced``: a write of an older epoch is refused inside the target's own transaction.
    ``keys``: columns by which it knows rows, so that a later row replaces an earlier one.
    ``keeps_order``: readers of the target see rows in the order in which they came.
    ``versioned``: an older row that comes late does not take the place of a newer one."""

    guarantee: Guarantee
    why: str
    multi_table: bool = True
    spans_tables: bool = False
    fenced: bool = False
    keys: tuple[str, ...] = ()
    keeps_order: bool = False
    versioned: bool = False
