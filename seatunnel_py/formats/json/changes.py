"""Wraps rows in messages of change logs: a JSON document in an envelope with its operation. A change is two messages,
as in SeaTunnel: a delete of the old row and an insert of the new one; or one message if its two rows are paired."""

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
"""Text before and after a document: for a delete, and for an insert."""

_OF_CHANGES = {
    "debezium_json": ('{"before":', ',"after":', ',"op":"u"}'),
    "canal_json": ('{"old":', ',"data":', ',"type":"UPDATE"}'),
    "maxwell_json": ('{"old":', ',"data":', ',"type":"UPDATE"}'),
}
"""Text around the two documents of one change."""

_PAIRED_BEFORE, _PAIRED_AFTER = 4, 5
"""Extra kinds: the two rows of one change. If they are separated later, they become a delete and an insert."""

_WENT = (int(RowKind.UPDATE_BEFORE), int(RowKind.DELETE), _PAIRED_BEFORE)


def enveloped(name: str, documents: Any, kinds: Any) -> Any:
    """The documents as messages of that format, by their rows' kinds; None: all are inserts."""
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
    first = followed(numbers, _PAIRED_BEFORE, _PAIRED_AFTER)
    if not first.any():
        return messages
    start, between, end = _OF_CHANGES[name]
    changes = pc.binary_join_element_wise(
        start, documents.filter(pa.array(first)), between, documents.filter(pa.array(np.roll(first, 1))), end, ""
    )
    return pc.replace_with_mask(messages, pa.array(np.roll(first, 1)), changes).filter(pa.array(~first))


def paired(kinds: Any, belong: Any = None) -> Any:
    """Mark a row before an update and the next row after it as one change. ``belong``: rows that may be paired with
    their next row; None: all."""
    import numpy as np
    import pyarrow as pa

    numbers = np.asarray(kinds).copy()
    first = followed(numbers, int(RowKind.UPDATE_BEFORE), int(RowKind.UPDATE_AFTER))
    if belong is not None:
        first &= belong
    numbers[first] = _PAIRED_BEFORE
    numbers[np.roll(first, 1)] = _PAIRED_AFTER
    return pa.array(numbers, pa.uint8())


def followed(numbers: Any, one: int, other: int) -> Any:
    """Mask of rows of the kind ``one`` that are followed by one of the kind ``other``; never the last."""
    import numpy as np

    return np.append((numbers[:-1] == one) & (numbers[1:] == other), False)[: len(numbers)]
