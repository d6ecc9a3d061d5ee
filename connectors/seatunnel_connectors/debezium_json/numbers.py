"""Decimals as Kafka Connect's bytes: the two's complement of the unscaled number, big-endian, as short as possible."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from seatunnel_py.api import BadRowsError

if TYPE_CHECKING:
    import pyarrow as pa


def unscaled_bytes(values: pa.Array) -> pa.Array:
    """The bytes of decimals, whole columns at a time."""
    import numpy as np
    import pyarrow as pa

    width = values.type.byte_width
    data = values.buffers()[1]
    if not len(values) or data is None:
        return pa.array([None] * len(values), pa.binary())
    start = values.offset * width
    raw = np.frombuffer(data, np.uint8)[start : start + len(values) * width]
    big = raw.reshape(len(values), width)[:, ::-1]
    sign = np.where(big[:, :1] >= 0x80, 0xFF, 0).astype(np.uint8)
    # Omit a leading byte that only repeats the sign, if the first bit after it shows the sign, too.
    repeats = (big[:, :-1] == sign) & ((big[:, 1:] >= 0x80) == (sign == 0xFF))
    omitted = np.cumprod(repeats, axis=1).sum(axis=1)
    kept = np.arange(width) >= omitted[:, None]
    valid = ~np.asarray(values.is_null())
    kept &= valid[:, None]
    offsets = np.concatenate([[0], np.cumsum(kept.sum(axis=1))]).astype(np.int32)
    found = pa.Array.from_buffers(
        pa.binary(), len(values), [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(big[kept]))]
    )
    return found if valid.all() else _masked(found, valid)


def _masked(values: pa.Array, valid: object) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.if_else(pa.array(valid), values, pa.scalar(None, pa.binary()))


def scaled_structs(values: pa.Array) -> pa.Array:
    """Texts of numbers of any size as Debezium's VariableScaleDecimal. Raises BadRowsError for one that is not
    finite."""
    import pyarrow as pa

    kind = pa.struct([("scale", pa.int32()), ("value", pa.binary())])
    return pa.array([None if text is None else _scaled(text) for text in values.to_pylist()], kind)


def _scaled(text: str) -> dict[str, int | bytes]:
    number = Decimal(text)
    if not number.is_finite():
        raise BadRowsError(
            f"a document of Debezium cannot hold {text} with decimal.handling.mode = precise",
            "set decimal.handling.mode = string in the block debezium of the source",
        )
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int), "a finite number has an exponent"
    unscaled = int("".join(map(str, digits))) * (-1 if sign else 1)
    if exponent > 0:
        unscaled, exponent = unscaled * 10**exponent, 0
    length = (unscaled if unscaled >= 0 else ~unscaled).bit_length() // 8 + 1
    return {"scale": -exponent, "value": unscaled.to_bytes(length, "big", signed=True)}
