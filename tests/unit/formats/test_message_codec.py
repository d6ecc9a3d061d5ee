"""The public codec: rows go to values and come back equal, and a bad value is named and costs no other."""

from __future__ import annotations

import pickle
import subprocess
import sys
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from seatunnel_py.api import BadRowsError, Batch, Column, Position, Rejected, TablePath, TableSchema, parse_type
from seatunnel_py.formats import MessageCodec, MessageFormat

TABLE = TableSchema(
    TablePath.parse("t"),
    (
        Column("id", parse_type("bigint")),
        Column("name", parse_type("string")),
        Column("price", parse_type("decimal(10, 2)")),
    ),
)
ROWS: list[dict[str, Any]] = [
    {"id": 1, "name": 'q"uote', "price": Decimal("1.50")},
    {"id": -2, "name": "line\nbreak", "price": None},
]


@pytest.mark.parametrize("form", [*MessageFormat])
def test_rows_come_back_equal(form: MessageFormat) -> None:
    codec = pickle.loads(pickle.dumps(MessageCodec(TABLE, form)))
    texts = codec.encode(pa.RecordBatch.from_pylist(ROWS, schema=TABLE.arrow()))

    (batch,) = codec.decode([text.encode() for text in texts.to_pylist()], end=Position({"at": 2}))

    assert isinstance(batch, Batch)
    assert (batch.data.to_pylist(), batch.end) == (ROWS, Position({"at": 2}))


def test_a_bad_value_is_named_and_the_others_are_rows() -> None:
    rejected, batch = MessageCodec(TABLE).decode([b'{"id": 1}', b"oops", b'{"id": 3}'], end=Position({"at": 3}))

    assert isinstance(rejected, Rejected)
    assert isinstance(batch, Batch)
    assert (rejected.data.to_pylist(), rejected.end) == ([{"raw": b"oops"}], None)
    assert "JSON" in rejected.reasons[0]
    assert (batch.data.column("id").to_pylist(), batch.end) == ([1, 3], Position({"at": 3}))


def test_where_all_values_are_bad_the_last_element_has_the_end() -> None:
    (rejected,) = MessageCodec(TABLE, MessageFormat.CSV).decode([b"1,a,2,surplus"], end=Position({"at": 1}))

    assert isinstance(rejected, Rejected)
    assert rejected.end == Position({"at": 1})


def test_a_value_that_holds_the_delimiter_is_refused_in_text() -> None:
    data = pa.RecordBatch.from_pylist([{"id": 1, "name": "a,b", "price": None}], schema=TABLE.arrow())

    with pytest.raises(BadRowsError, match="'name'"):
        MessageCodec(TABLE, MessageFormat.TEXT).encode(data)


def test_importing_the_formats_loads_no_arrow() -> None:
    code = "import sys; import seatunnel_py.formats; sys.exit('pyarrow' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
