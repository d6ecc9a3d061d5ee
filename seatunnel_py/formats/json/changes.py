"""Rows as messages of change logs: a JSON document inside of what says whether it came or went. A change is two
messages, as with the peer: the row as it was went, the row as it is came; or one, where its two rows are paired."""

from __future__ import annotations

from typing import Any

from seatunnel_py.api import RowKind

_WITH_DATA = ('{"data":', ',"type":"DELETE"}'), ('{"data":', ',"type":"INSERT"}')
_ENVELOPES = {
    "debezium_json": (('{"before":', ',"after":null,"op":"d"}'), ('{"before":null,"after":', ',"op":"c"}')),
    "canal_json": _WITH_DATA,
    "maxwell_json": _WITH_DATA,
    "ogg_json": _WITH_DATA,
}
"""What stands in front of a document and behind it: of one that went, and of one that came."""

_OF_CHANGES = {
    "debezium_json": ('{"before":', ',"after":', ',"op":"u"}'),
    "canal_json": ('{"old":', ',"data":', ',"type":"UPDATE"}'),
    "maxwell_json": ('{"old":', ',"data":', ',"type":"UPDATE"}'),
}
"""What stands around the two documents of one change."""

_PAIRED_BEFORE, _PAIRED_AFTER = 4, 5
"""Beyond the kinds of rows: the two rows of one change. Where they were parted later, they went and came."""

_WENT = (int(RowKind.UPDATE_BEFORE), int(RowKind.DELETE), _PAIRED_BEFORE)


def enveloped(name: str, documents: Any, kinds: Any) -> Any:
    """The documents as messages of that format, by their rows' kinds; None: all of them came."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    before, after = _ENVELOPES[name]
    came = pc.binary_join_element_wise(after[0], documents, after[1], "")
    if kinds is None:
        return came
    went = pc.binary_join_element_wise(before[0], documents, before[1], "")
    messages = pc.if_else(pc.is_in(kinds, pa.array(_WENT, pa.uint8())), went, came)
    numbers = np.asarray(kinds)
    first = _followed(numbers, _PAIRED_BEFORE, _PAIRED_AFTER)
    if not first.any():
        return messages
    start, between, end = _OF_CHANGES[name]
    changes = pc.binary_join_element_wise(
        start, documents.filter(pa.array(first)), between, documents.filter(pa.array(np.roll(first, 1))), end, ""
    )
    return pc.replace_with_mask(messages, pa.array(np.roll(first, 1)), changes).filter(pa.array(~first))


def paired(kinds: Any, belong: Any = None) -> Any:
    """The kinds, where a row before an update and the row behind it are one change. ``belong``: which rows may be
    paired with the next one; None: all."""
    import numpy as np
    import pyarrow as pa

    numbers = np.asarray(kinds).copy()
    first = _followed(numbers, int(RowKind.UPDATE_BEFORE), int(RowKind.UPDATE_AFTER))
    if belong is not None:
        first &= belong
    numbers[first] = _PAIRED_BEFORE
    numbers[np.roll(first, 1)] = _PAIRED_AFTER
    return pa.array(numbers, pa.uint8())


def _followed(numbers: Any, one: int, other: int) -> Any:
    """Which rows are of the one kind, with one of the other kind behind them: never the last."""
    import numpy as np

    return np.append((numbers[:-1] == one) & (numbers[1:] == other), False)[: len(numbers)]
