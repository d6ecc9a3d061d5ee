"""Answers in JSON."""

from __future__ import annotations

import json
from typing import Any

from starlette.responses import Response

_encode = json.JSONEncoder(default=str, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode


def encoded(plain: Any) -> bytes:
    """Plain data as JSON. ASCII only: no character of data can control a terminal that shows it."""
    return _encode(plain).encode("ascii")


def answer(plain: Any, status: int = 200, **headers: str) -> Response:
    """An answer with this content; a ``_`` in the name of a header means ``-``."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(encoded(plain), status, headers=named, media_type="application/json")
