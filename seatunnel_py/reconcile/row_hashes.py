"""Hashes the rows of Arrow columns, a column at a time: 64 bits, equal for equal values of both sides.

Values are hashed by meaning, not by their buffers: slots of nulls may hold any bytes, ``-0.0`` equals ``0.0``, and all
forms of NaN are one. Texts and bytes are hashed in words of eight bytes. Nested types have no form here: their columns
become JSON text first. Different rows get the same hash with a probability of 2 to the power of -64.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

Hashes: TypeAlias = "np.ndarray[Any, np.dtype[np.uint64]]"

_WHOLE = 0xFFFF_FFFF_FFFF_FFFF
_STEP = np.uint64(0x9E37_79B9_7F4A_7C15)
_FIRST, _SECOND = np.uint64(0xBF58_476D_1CE4_E5B9), np.uint64(0x94D0_49BB_1331_11EB)
_NULL = np.uint64(0xD6E8_FEB8_6659_FD93)
_MASKS = np.array([(1 << (8 * left)) - 1 for left in range(9)], np.uint64)
"""By the number of bytes that are left of a text: the part of a word that belongs to it."""
_SHORT = 64
"""Bytes of a text up to which its words are hashed one number of word at a time, which is three times as fast."""


def mixed(words: Hashes) -> Hashes:
    """Spread each word over 64 bits (the finaliser of SplitMix64, a bijection)."""
    words = words + _STEP
    words ^= words >> np.uint64(30)
    words *= _FIRST
    words ^= words >> np.uint64(27)
    words *= _SECOND
    words ^= words >> np.uint64(31)
    return words


def combined(columns: Sequence[Hashes], rows: int) -> Hashes:
    """Hash each row, from the hashes of its values in each column. The order of the columns counts, that of the rows
    does not."""
    found = np.zeros(rows, np.uint64)
    for at, column in enumerate(columns):
        place = np.uint64((at + 1) * int(_STEP) & _WHOLE)
        found += mixed(column ^ place)
    return mixed(found)


def value_hashes(array: pa.Array) -> Hashes:
    """Hash each value of a column."""
    import pyarrow as pa

    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if pa.types.is_null(array.type):
        return np.full(len(array), _NULL)
    found = _present(array)
    if array.null_count:
        found[np.asarray(array.is_null().to_numpy(zero_copy_only=False), bool)] = _NULL
    return found


def _present(array: Any) -> Hashes:
    """Hash the values; a null gets any hash."""
    import pyarrow as pa

    kind, t = array.type, pa.types
    if t.is_string(kind) or t.is_binary(kind):
        return _text_hashes(array, np.dtype(np.int32))
    if t.is_large_string(kind) or t.is_large_binary(kind):
        return _text_hashes(array, np.dtype(np.int64))
    if t.is_fixed_size_binary(kind) and not t.is_decimal(kind):
        return _text_hashes(array.cast(pa.binary()), np.dtype(np.int32))
    if t.is_decimal(kind):
        return _wide_hashes(array, kind.bit_width // 64)
    if t.is_floating(kind):
        return mixed(_float_words(array))
    if t.is_boolean(kind):
        array = array.cast(pa.uint8())
    elif t.is_temporal(kind):
        array = array.view(pa.int32() if kind.bit_width == 32 else pa.int64())
    elif not t.is_integer(kind):
        raise ValueError(f"rows with values of type {kind} cannot be compared")
    numbers = array.fill_null(0).to_numpy(zero_copy_only=False)
    return mixed(numbers.astype(np.int64, copy=False).view(np.uint64))


def _float_words(array: Any) -> Hashes:
    import pyarrow as pa

    numbers = array.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False) + 0.0  # -0.0 becomes 0.0
    numbers[np.isnan(numbers)] = np.nan
    return np.asarray(numbers, np.float64).view(np.uint64)


def _wide_hashes(array: Any, width: int) -> Hashes:
    """Hash decimals, which are integers of several words."""
    start = array.offset * width
    words = np.frombuffer(array.buffers()[1], "<u8")[start : start + len(array) * width].reshape(-1, width)
    found = np.zeros(len(array), np.uint64)
    for at in range(width):
        found += mixed(words[:, at] ^ np.uint64((at + 1) * int(_NULL) & _WHOLE))
    return mixed(found)


def _text_hashes(array: Any, offset: np.dtype[Any]) -> Hashes:
    """Hash texts or bytes. The last word of each is filled up with zeros; the length is hashed as well."""
    _, offsets, data = array.buffers()
    if not len(array):
        return np.zeros(0, np.uint64)
    ends = np.frombuffer(offsets, offset)[array.offset : array.offset + len(array) + 1].astype(np.int64)
    lengths = np.diff(ends)
    longest = int(lengths.max())
    sums = np.zeros(len(array), np.uint64)
    if longest:
        room = np.zeros(int(ends[-1] - ends[0]) + min(longest, _SHORT) + 8, np.uint8)
        room[: ends[-1] - ends[0]] = np.frombuffer(data, np.uint8)[ends[0] : ends[-1]]
        # Any eight bytes as a word, at any place.
        words = np.ndarray((len(room) - 7,), "<u8", room, strides=(1,))
        add = _add_short if longest <= _SHORT else _add_long
        add(sums, words, ends[:-1] - ends[0], lengths)
    return mixed(sums ^ (lengths.astype(np.uint64) * _FIRST))


def _add_short(sums: Hashes, words: Hashes, starts: Any, lengths: Any) -> None:
    """Add the hashes of the first words of all texts, then those of the second words, and so on."""
    for number in range(int(lengths.max() + 7) >> 3):
        left = np.clip(lengths - 8 * number, 0, 8)
        found = mixed((words[starts + 8 * number] & _MASKS[left]) ^ mixed(np.array([number], np.uint64)))
        found[left == 0] = 0
        sums += found


def _add_long(sums: Hashes, words: Hashes, starts: Any, lengths: Any) -> None:
    """Add the hashes of all words of all texts at once."""
    counts = (lengths + 7) >> 3
    firsts = np.cumsum(counts) - counts
    within = np.arange(int(counts.sum()), dtype=np.int64) - np.repeat(firsts, counts)
    found = words[np.repeat(starts, counts) + (within << 3)]
    found &= _MASKS[np.minimum(np.repeat(lengths, counts) - (within << 3), 8)]
    filled = counts > 0
    sums[filled] = np.add.reduceat(mixed(found ^ mixed(within.view(np.uint64))), firsts[filled])
