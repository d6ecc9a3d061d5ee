"""Chooses the id that a reader of the log has among the server's replicas.

One id is enough: a step has one reader. The id is the same at each start, on purpose: a server ends the dump of an
older reader with the id of a newer one, so a driver that was replaced does not read on.
"""

from __future__ import annotations

import hashlib

_FIRST, _COUNT = 2_500_000_000, 1_500_000_000
"""A range that administrators do not use by hand, below 2^32."""
SERVER_ID_MAX = (1 << 32) - 1


def own_server_id(job_id: str, step: str, store: str) -> int:
    """The id of a step that gives none; the store makes it differ between jobs with the same id."""
    digest = hashlib.sha256(repr((job_id, step, store)).encode()).digest()
    return _FIRST + int.from_bytes(digest[:8], "big") % _COUNT


def given_server_id(text: str) -> int:
    """The first id of ``5400`` or ``5400-5408``. Raises ValueError for another text."""
    first, dash, last = (one.strip() for one in text.partition("-"))
    ids = [int(one) for one in (first, last if dash else first) if one.isascii() and one.isdigit()]
    if len(ids) != 2 or not 0 < ids[0] <= ids[1] <= SERVER_ID_MAX:
        raise ValueError(f"{text!r} is not an id or a range of ids from 1 to {SERVER_ID_MAX}: write 5400 or 5400-5408")
    return ids[0]
