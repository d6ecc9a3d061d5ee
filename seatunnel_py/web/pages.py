"""Cuts lists into pages. A cursor names the last row of a page, so that rows which come and go move nothing else."""

from __future__ import annotations

import base64
import json
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, TypeVar

from fastapi import Query

from seatunnel_py.config.resolve import did_you_mean
from seatunnel_py.web.problems import ApiError

LIMIT_MAX = 200
CURSOR_MAX = 1_000
Limit = Annotated[int, Query(ge=1, le=LIMIT_MAX, description="rows of a page")]
After = Annotated[str, Query(max_length=CURSOR_MAX, description="`next` of the page before")]
Skip = Annotated[int, Query(ge=0, le=10_000_000, description="rows before the page, for a list that scrolls")]
Text = Annotated[str, Query(max_length=200, description="only rows with this text in their names")]
_T = TypeVar("_T")


def page(rows: Sequence[_T], key: Callable[[_T], Any], after: str, limit: int) -> tuple[list[_T], str | None]:
    """A page of rows that are in the order of their keys, which are lists of texts and numbers; and the cursor of the
    next page. Raises ApiError for any other text."""
    begin = 0
    if after:
        last = _opened(after)
        try:
            begin = bisect_right(rows, last, key=key)
        except TypeError:
            raise _no_cursor() from None
    chosen = list(rows[begin : begin + limit])
    more = begin + limit < len(rows)
    return chosen, _cursor(key(chosen[-1])) if more and chosen else None


def keyed(rows: Sequence[Mapping[str, Any]], name: str = "table") -> dict[str, dict[str, Any]]:
    """The rows by their keys: the name, and for a name that is there again the name with ``~2``."""
    seen: Counter[str] = Counter()
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        text = str(row[name])
        seen[text] += 1
        key = text if seen[text] == 1 else f"{text}~{seen[text]}"
        found[key] = {"key": key, **row}
    return found


def chosen_of(given: str, valid: Sequence[str], what: str) -> str:
    """A name out of a list. Raises ApiError with the nearest one."""
    if given in valid:
        return given
    meant = did_you_mean(given, valid)
    raise ApiError(422, "request", f"there is no such {what}", f"{meant}valid: {', '.join(valid)}")


def _cursor(key: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(key, separators=(",", ":")).encode()).decode().rstrip("=")


def _opened(cursor: str) -> Any:
    try:
        return json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (ValueError, RecursionError):
        raise _no_cursor() from None


def _no_cursor() -> ApiError:
    return ApiError(422, "request", "`after` is not a cursor of this list", "use `next` of the page before, unchanged")
