"""Errors in SeaTunnel's form: ``status`` is ``fail``, ``message`` a sentence with its remedy; never null, no trace."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from fastapi import Request
from starlette.responses import Response

from seatunnel_py.web.answers import encoded
from seatunnel_py.web.problems import answer_to

FAULTS_NAMED = 3


def fail_answer(request: Request, error: Exception) -> Response:
    """The answer for an error that a route has raised: the problem of our own interface, in that form."""
    found = answer_to(request, error)
    problem = json.loads(bytes(found.body))
    status = 400 if found.status_code == 422 else found.status_code
    kept = {name: value for name, value in found.headers.items() if name not in ("content-length", "content-type")}
    content = {"status": "fail", "message": fail_message(problem), "request": problem["request"]}
    return Response(encoded(content), status, headers=kept, media_type="application/json")


def fail_message(problem: Mapping[str, Any]) -> str:
    """The sentence of a problem, with its first faults and its remedy."""
    faults = [_fault(one) for one in problem["problems"][:FAULTS_NAMED]]
    more = len(problem["problems"]) - len(faults)
    named = "; ".join([*faults, *([f"and {more} more"] if more > 0 else [])])
    text = f"{problem['detail']}: {named}" if named else str(problem["detail"])
    return f"{text}; {problem['remedy']}" if problem["remedy"] else text


def _fault(one: Mapping[str, Any]) -> str:
    where = f"line {one['line']}: " if one.get("line") else ""
    path = f"{one['path']}: " if one.get("path") else ""
    remedy = f" ({one['remedy']})" if one.get("remedy") else ""
    return f"{where}{path}{one['message']}{remedy}"
