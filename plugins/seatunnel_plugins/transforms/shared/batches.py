"""Helps transforms to change batches and tables: pick, put and rename columns, keep rows.

Everything here keeps data, absent mask, row kinds and metadata in step.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from seatunnel_py.api import Batch, Column, TableSchema

if TYPE_CHECKING:
    import pyarrow as pa


def require(table: TableSchema, names: Iterable[str], option: str) -> None:
    """Raise ValueError for the first field that the table lacks, with the nearest name that it has."""
    for name in names:
        if table.column(name) is None:
            near = difflib.get_close_matches(name, table.names, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"its fields are {', '.join(table.names)}"
            raise ValueError(f"{option}: table {table.path} has no field {name!r}; {hint}")


def column(table: TableSchema, name: str, option: str) -> Column:
    """The column of that name. Raises ValueError as :func:`require` does."""
    require(table, [name], option)
    found = table.column(name)
    assert found is not None
    return found


def distinct(names: Sequence[str], option: str) -> None:
    """Raise ValueError if two output fields have the same name."""
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise ValueError(f"{option}: more than one output field would be called {', '.join(map(repr, repeated))}")


# ---------------------------------------------------------------- tables


def picked(table: TableSchema, names: Sequence[str]) -> TableSchema:
    """The table with only these columns, in this order; keys that lose a column are dropped."""
    found = (table.column(name) for name in names)
    return table.with_columns(tuple(one for one in found if one is not None))


def renamed(table: TableSchema, new_names: Mapping[str, str]) -> TableSchema:
    """The table with columns renamed, in keys and constraints as well."""
    primary = table.primary_key
    if primary is not None:
        primary = replace(primary, columns=tuple(new_names.get(name, name) for name in primary.columns))
    constraints = tuple(
        replace(key, columns=tuple((new_names.get(name, name), order) for name, order in key.columns))
        for key in table.constraints
    )
    return replace(
        table,
        columns=tuple(replace(one, name=new_names.get(one.name, one.name)) for one in table.columns),
        primary_key=primary,
        constraints=constraints,
        partition_keys=tuple(new_names.get(name, name) for name in table.partition_keys),
    )


def with_added(table: TableSchema, added: Iterable[Column]) -> TableSchema:
    """The table with added columns: in place if the name exists, else after the others. Keys with such a column are
    dropped, because they may not be unique any more."""
    key = table.primary_key
    for one in added:
        table = table.put_column(one)
        if key is not None and one.name in key.columns:
            table = replace(table, primary_key=replace(key, proved=False))
    return table


# ---------------------------------------------------------------- batches


def reshaped(batch: Batch, output: TableSchema, sources: Mapping[str, str] | None = None) -> Batch:
    """The batch with the columns of ``output``; each comes from the column of its name, or from the one in
    ``sources``."""
    import pyarrow as pa

    origin = {name: (sources or {}).get(name, name) for name in output.names}
    arrow = output.arrow()
    data = pa.RecordBatch.from_arrays([batch.data.column(origin[name]) for name in output.names], schema=arrow)
    absent = batch.absent
    if absent is not None:
        absent = pa.RecordBatch.from_arrays(
            [absent.column(origin[name]) for name in output.names], names=list(output.names)
        )
    return replace(batch, table=output.path, data=data, absent=absent)


def put(batch: Batch, output: TableSchema, added: Mapping[str, pa.Array]) -> Batch:
    """The batch with the columns of ``output``: those in ``added`` are new values, which are never absent."""
    import pyarrow as pa

    arrays = [added[name] if name in added else batch.data.column(name) for name in output.names]
    data = pa.RecordBatch.from_arrays(arrays, schema=output.arrow())
    absent = batch.absent
    if absent is not None:
        there = pa.repeat(pa.scalar(False), batch.rows)
        columns = [there if name in added else absent.column(name) for name in output.names]
        absent = pa.RecordBatch.from_arrays(columns, names=list(output.names))
    return replace(batch, table=output.path, data=data, absent=absent)


def kept(batch: Batch, mask: pa.BooleanArray) -> Batch:
    """The rows for which ``mask`` (without nulls) is true."""
    if mask.true_count == len(mask):
        return batch
    return replace(
        batch,
        data=batch.data.filter(mask),
        kinds=batch.kinds.filter(mask) if batch.kinds is not None else None,
        absent=batch.absent.filter(mask) if batch.absent is not None else None,
        metadata={name: values.filter(mask) for name, values in batch.metadata.items()},
    )
