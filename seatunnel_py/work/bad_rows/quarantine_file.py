"""Stores the bad rows of one unit in a file: written before the others are staged, visible once their checkpoint is
committed.

Rules. (1) The file is named after the rows of the unit (its data id), not after the attempt. The file records which
rows are bad, and every later attempt at these rows follows it, for a target may hold the others already. (2) A row is
kept as read at the head of its chain, with its kind and metadata, the step that refused it and the reason. A record
that a reader could not decode is kept as the bytes received. (3) A file does not show whether it counts: manifests do
(``runtime.storage.quarantine_store``).
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import fs

from seatunnel_py.api.batch import Batch, Plain, Position, Rejected
from seatunnel_py.api.sink import Piece
from seatunnel_py.redaction import redacted_text
from seatunnel_py.work.bad_rows.bisect import Fault
from seatunnel_py.work.bad_rows.limits import REPLAYED, STAGED, own_prefix
from seatunnel_py.work.chain import Chain, ChainSource
from seatunnel_py.work.segment_files import filesystem
from seatunnel_py.work.segments import SegmentWriter, batches_of
from seatunnel_py.work.unit import QUARANTINE, SinkPiece, Unit

RAW = "raw"
ROW, STEP, ERROR = "quarantine.row", "quarantine.step", "quarantine.error"
_ABOUT = b"seatunnel.quarantine"
ERROR_CHARACTERS_MAX = 500  # a client's message may quote whole rows


@dataclass(frozen=True, slots=True)
class BadRowsOfBatch:
    """The bad rows of one batch: ``rows`` are their numbers in the unit. ``batch`` holds only these rows."""

    batch: Batch
    rows: Sequence[int]
    faults: Sequence[Fault]
    raw: bool = False


@dataclass(frozen=True, slots=True)
class QuarantineHeader:
    """The origin of a file's rows. ``step`` is where they enter the pipeline again; ``end`` is the position that the
    unit has reached, None: the end of its split; ``read`` rows, if known."""

    job: str
    vertex: str
    step: str
    unit: str
    split: str
    end: Mapping[str, Any] | None
    at: float
    read: int | None = None


def name_of(unit: Unit, chain: Chain) -> str:
    """Another generation of the split has other rows."""
    start, split = unit.start, unit.split
    generations = f"{split.generation if split else ''}/{start.generation if start else ''}"
    digest = sha256(f"{chain.lineage}/{unit.data_id}/{generations}".encode()).hexdigest()
    return f"{own_prefix(chain.lineage)}{digest[:32]}"


def name_of_attempt(unit: Unit, chain: Chain) -> str:
    """Name for an attempt whose decision later attempts need not follow: a late write of one must not change that of
    another."""
    digest = sha256(f"{chain.lineage}/{chain.incarnation}.{unit.id}".encode()).hexdigest()
    return f"{own_prefix(chain.lineage)}{digest[:32]}"


def entry_step(chain: Chain) -> str:
    """The first step of the rows of a chain."""
    if isinstance(chain.head, ChainSource):
        return chain.head.step.removeprefix(REPLAYED)
    return (*chain.transforms, *chain.sinks)[0].step


def undecoded(rejected: Rejected, before: int) -> BadRowsOfBatch:
    """Undecoded records as bad rows of a table of bytes; ``before`` rows were read ahead of them."""
    batch = Batch(rejected.table, rejected.data, end=rejected.end)
    faults = [Fault("", reason) for reason in rejected.reasons]
    return BadRowsOfBatch(batch, [before] * batch.rows, faults, raw=rejected.data.schema.names == [RAW])


def write(
    location: str,
    unit: Unit,
    chain: Chain,
    bad: Sequence[BadRowsOfBatch],
    end: Position | None,
    *,
    name: str = "",
    rows: int | None = None,
) -> SinkPiece:
    """Write the file, by default under the name of its rows; return a piece that names it."""
    directory = f"{location.rstrip('/')}/{STAGED}"
    split = unit.split.id if unit.split else ""
    far = end.to_plain() if end else None
    about = QuarantineHeader(chain.job_id, chain.vertex, entry_step(chain), str(unit.id), split, far, time.time(), rows)
    writer = SegmentWriter(directory, name or name_of(unit, chain), "error.location")
    for one in bad:
        writer.add(_marked(one, about))
    slices = writer.finish(QUARANTINE)
    make_durable(writer.url)
    rows = sum(one.batch.rows for one in bad)
    data: dict[str, Plain] = {"location": location, "file": writer.url.rpartition("/")[2]}
    return SinkPiece(QUARANTINE, bad[0].batch.table, Piece(rows, sum(one.bytes for one in slices), data=data))


def _marked(bad: BadRowsOfBatch, about: QuarantineHeader) -> Batch:
    texts = [redacted_text(fault.error)[:ERROR_CHARACTERS_MAX] for fault in bad.faults]
    marks = {
        ROW: pa.array(bad.rows, pa.int64()),
        STEP: pa.array([fault.step or about.step for fault in bad.faults], pa.string()),
        ERROR: pa.array(texts, pa.string()),
    }
    plain = {name: getattr(about, name) for name in QuarantineHeader.__slots__} | {RAW: bad.raw}
    metadata = {**(bad.batch.data.schema.metadata or {}), _ABOUT: json.dumps(plain).encode()}
    data = bad.batch.data.replace_schema_metadata(metadata)
    return replace(bad.batch, data=data, metadata={**bad.batch.metadata, **marks})


def read(url: str) -> Iterator[tuple[QuarantineHeader, BadRowsOfBatch]]:
    """The content of a file; batches are as before."""
    for batch in batches_of(url):
        own = dict(batch.data.schema.metadata)
        plain = json.loads(own.pop(_ABOUT))
        raw = plain.pop(RAW)
        marks = {name: batch.metadata[name].to_pylist() for name in (ROW, STEP, ERROR)}
        rest = {name: values for name, values in batch.metadata.items() if name not in marks}
        faults = [Fault(step, error) for step, error in zip(marks[STEP], marks[ERROR], strict=True)]
        bare = replace(batch, data=batch.data.replace_schema_metadata(own or None), metadata=rest)
        yield QuarantineHeader(**plain), BadRowsOfBatch(bare, marks[ROW], faults, raw)


@dataclass(frozen=True, slots=True)
class QuarantineDecision:
    """The bad rows of a unit, its end position, and how many rows were read (None: an older file)."""

    end: Position | None
    bad: tuple[BadRowsOfBatch, ...]
    rows: int | None = None


def decision(location: str, unit: Unit, chain: Chain) -> QuarantineDecision | None:
    """The decision of an earlier attempt at the rows of this unit."""
    url = f"{location.rstrip('/')}/{STAGED}/{name_of(unit, chain)}.segment"
    files, path = filesystem(url)
    if files.get_file_info(path).type is fs.FileType.NotFound:
        return None
    found = tuple(read(url))
    about = found[0][0]
    end = Position(**about.end) if about.end else None
    return QuarantineDecision(end, tuple(bad for _, bad in found if not bad.raw), about.read)


def make_durable(url: str) -> None:
    """A local file survives a machine that stops now; other stores promise that when they close a file."""
    files, path = filesystem(url)
    if files.type_name != "local":
        return
    file = Path(path)
    file.chmod(0o600)
    for place, flags in ((file, os.O_RDONLY), (file.parent, os.O_RDONLY | os.O_DIRECTORY)):
        descriptor = os.open(place, flags)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
