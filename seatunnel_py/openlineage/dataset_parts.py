"""Writes the datasets of an event, within a size. Pure.

Rules. (1) Servers refuse large events, so an event has at most ``EVENT_BYTES_MAX`` bytes. (2) The names of datasets
come first, for they are the graph; then the columns of each, outputs and inputs in turn; then the lineage of columns.
(3) Missing parts are counted in the event, so a reader never takes a part for the whole.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Any

from seatunnel_py.openlineage import facets
from seatunnel_py.openlineage.facets import Facet
from seatunnel_py.openlineage.job_datasets import CountKey, JobDataset, JobDatasets, OutputLineage
from seatunnel_py.runtime.observe.receipt import TableReceipt

EVENT_BYTES_MAX = 1_000_000
OTHER_BYTES_MAX = 60_000
"""Bytes of the rest of an event: run, job, message, query."""
NAMES_BYTES_MAX = 400_000
COLUMNS_MAX = 2_000
INPUT_FIELDS_MAX = 5_000
"""Input columns in the lineage of one dataset: a step that declares none has a product of columns."""
INPUT_FIELD_BYTES_MIN = 100
"""So a lineage for which there is no room is not written."""


@dataclass(frozen=True, slots=True)
class DatasetCount:
    """Rows of a dataset, and bytes if they are known."""

    rows: int
    size: int | None = None


@dataclass(frozen=True, slots=True)
class LeftOut:
    """How much an event does not have: datasets without a name, datasets without their columns, and those of whose
    lineage columns are missing."""

    datasets: int = 0
    schemas: int = 0
    lineages: int = 0

    def facet(self) -> dict[str, Facet]:
        """The facet with these numbers; none if nothing is missing."""
        if self == LeftOut():
            return {}
        text = f"an event has at most {EVENT_BYTES_MAX} bytes"
        return {
            "seatunnel_limits": facets.own(
                "limits",
                reason=text,
                datasetsLeftOut=self.datasets,
                schemasLeftOut=self.schemas,
                columnLineageIncomplete=self.lineages,
            )
        }


@dataclass(slots=True)
class _RoomLeft:
    bytes: int
    left_out: LeftOut = field(default_factory=LeftOut)

    def takes(self, part: Any) -> bool:
        """Whether there is room for this part, which then has its place."""
        size = len(json.dumps(part)) + 2
        if size > self.bytes:
            return False
        self.bytes -= size
        return True


def parts_of(
    datasets: JobDatasets, counted: Mapping[CountKey, DatasetCount], *, described: bool = True
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], LeftOut]:
    """Return the inputs and outputs of an event, and the number of missing parts. ``counted``: counts by the keys of
    the datasets. ``described=False``: names and counts only."""
    room = _RoomLeft(NAMES_BYTES_MAX)
    pairs = [*zip_longest(datasets.outputs, datasets.inputs)]
    named: list[tuple[JobDataset, dict[str, Any]]] = []
    inputs: list[dict[str, Any]] = []
    outputs: list[dict[str, Any]] = []
    for pair in pairs:
        for one, found in zip(pair, (outputs, inputs), strict=True):
            if one is None:
                continue
            part = _named(one, counted, is_input=found is inputs)
            if room.takes(part):
                found.append(part)
                named.append((one, part))
            else:
                room.left_out = replace(room.left_out, datasets=room.left_out.datasets + 1)
    if described:
        room.bytes += EVENT_BYTES_MAX - OTHER_BYTES_MAX - NAMES_BYTES_MAX
        _describe(named, room)
    return inputs, outputs, room.left_out


def counts_of(tables: Iterable[TableReceipt], datasets: JobDatasets) -> dict[CountKey, DatasetCount]:
    """Counts by the keys of the datasets. A key that several datasets share is omitted: its count
    belongs to one of them."""
    found: dict[CountKey, DatasetCount] = {}
    for table in tables:
        found[table.table,] = DatasetCount(table.rows_read)
        for into in table.targets:
            if into.rows_written is not None:
                found[table.table, into.target] = DatasetCount(into.rows_written, into.bytes_written)
    owners = Counter(key for one in (*datasets.inputs, *datasets.outputs) for key in one.keys)
    return {key: count for key, count in found.items() if owners[key] == 1}


def _named(one: JobDataset, counted: Mapping[CountKey, DatasetCount], *, is_input: bool) -> dict[str, Any]:
    part: dict[str, Any] = {"namespace": one.dataset.namespace, "name": one.dataset.name}
    known = [counted[key] for key in one.keys if key in counted]
    if known:
        rows = sum(count.rows for count in known)
        sizes = [count.size for count in known if count.size is not None]
        if is_input:
            part["inputFacets"] = {"inputStatistics": facets.input_statistics(rows)}
        else:
            size = sum(sizes) if len(sizes) == len(known) else None
            part["outputFacets"] = {"outputStatistics": facets.output_statistics(rows, size)}
    return part


def _describe(named: Iterable[tuple[JobDataset, dict[str, Any]]], room: _RoomLeft) -> None:
    """Add columns, then lineage, to as many datasets as there is room for."""
    described = []
    for one, part in named:
        found = {"dataSource": facets.data_source(one.dataset.namespace), "schema": facets.schema(one.fields)}
        if len(one.fields) > COLUMNS_MAX or not room.takes(found):
            room.left_out = replace(room.left_out, schemas=room.left_out.schemas + 1)
            continue
        part["facets"] = found
        described.append((one, part))
    for one, part in described:
        if one.lineage is None:
            continue
        names = _within(one.lineage)
        fits = False
        if sum(len(one.lineage.columns[name]) for name in names) * INPUT_FIELD_BYTES_MIN < room.bytes:
            facet = facets.column_lineage(one.lineage, names)
            fits = room.takes(facet)
        if fits:
            part["facets"]["columnLineage"] = facet
        if not fits or len(names) < len(one.lineage.columns):
            room.left_out = replace(room.left_out, lineages=room.left_out.lineages + 1)


def _within(lineage: OutputLineage) -> list[str]:
    """The columns whose lineage is not too long, from the first on."""
    left, names = INPUT_FIELDS_MAX - len(lineage.rows), []
    for name, uses in lineage.columns.items():
        if len(uses) > left:
            break
        left -= len(uses)
        names.append(name)
    return names
