"""Capabilities that a plugin declares as data, for the planner, the documentation and the test kit."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum, StrEnum


class Guarantee(IntEnum):
    """Guarantees of a sink, weakest first: a path has the ``min`` of its steps."""

    AT_LEAST_ONCE = 1
    IDEMPOTENT = 2
    TWO_PHASE_COMMIT = 3

    @property
    def text(self) -> str:
        return ("at-least-once", "exactly-once (idempotent by key)", "exactly-once (two-phase commit)")[self - 1]


class Determinism(IntEnum):
    """How equal the output is when it is read or computed again, weakest first (as in SPARK-23243)."""

    INDETERMINATE = 1
    UNORDERED = 2
    DETERMINATE = 3


class Cardinality(StrEnum):
    """Ratio of output rows to input rows of a transform. ``ANY`` is only reported, the others are checked."""

    ONE_TO_ONE = "one-to-one"
    FILTER = "filter"
    ANY = "any"


@dataclass(frozen=True, slots=True)
class SourceCapabilities:
    """Capabilities of a source. ``determinism`` has no default: every guarantee depends on it.
    ``independent_tables``: no split spans tables, so each table gets its own pipeline.
    ``resident``: the readers stay open in one worker slot until the job stops. ``overlaps_log``: the copy may hold
    changes that the log repeats, so only a sink that writes by key has each of them once."""

    bounded: bool = True
    replayable: bool = True
    determinism: Determinism = field(kw_only=True)
    parallel: bool = True
    independent_tables: bool = True
    resident: bool = False
    overlaps_log: bool = False


@dataclass(frozen=True, slots=True)
class TransformCapabilities:
    """Capabilities of a transform: its effect on the number of rows, and its determinism.

    ``keeps_keys``: key columns stay unchanged and no row is duplicated. A key that was unique in the source stays
    unique, and a sink may load without looking for duplicates. ``depends_on_change``: the output depends on the kind or
    the metadata of a change, so it cannot be computed again from the row as the source holds it now. ``metadata``:
    names of the metadata of rows that it uses; a source may leave others out. ``before_images``: it uses the row before
    an update, too (``RowKind.UPDATE_BEFORE``).
    """

    determinism: Determinism = Determinism.DETERMINATE
    cardinality: Cardinality = Cardinality.ONE_TO_ONE
    keeps_keys: bool = False
    depends_on_change: bool = False
    metadata: frozenset[str] = frozenset()
    before_images: bool = False


@dataclass(frozen=True, slots=True)
class SinkCapabilities:
    """Capabilities of a sink. ``why`` explains the guarantee in a phrase ("the table has no key").
    ``spans_tables``: all tables succeed or fail together, so they share a pipeline.
    ``fenced``: the target's transaction refuses writes of an older epoch.
    ``keys``: columns that identify rows, so that a later row replaces an earlier one.
    ``keeps_order``: the target stores rows in the order of their arrival.
    ``versioned``: a late older row does not replace a newer one.
    ``before_images``: the target stores the row before an update, too (``RowKind.UPDATE_BEFORE``)."""

    guarantee: Guarantee
    why: str
    multi_table: bool = True
    spans_tables: bool = False
    fenced: bool = False
    keys: tuple[str, ...] = ()
    keeps_order: bool = False
    versioned: bool = False
    before_images: bool = False
