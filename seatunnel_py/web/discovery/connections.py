"""Routes from a connection to a job file. The routes keep nothing: a connection comes with each request.

Rule. A password comes as a reference, as in job files; a request with another one is refused before it is used, and no
answer repeats it.
"""

from __future__ import annotations

import re
from typing import Annotated, Any

from fastapi import Request
from pydantic import Field, StringConstraints
from starlette.responses import Response

from seatunnel_py.control.definition_text import DefinitionText
from seatunnel_py.errors import JobFileError, SeaTunnelError
from seatunnel_py.plan.job_text.chosen import Connection
from seatunnel_py.web.acts import Body
from seatunnel_py.web.answers import answer
from seatunnel_py.web.problems import ApiError
from seatunnel_py.web.routes.checks import JobBody, looked_at

TABLES_MAX = 20_000
Key = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_.-]*$", max_length=100)]
Value = Annotated[str, StringConstraints(max_length=10_000)]
_PARAMETER = re.compile(r"//[^/?#]*:[^/?#]*@|[?&;](password|passwd|pwd)=(?!\$\{)", re.IGNORECASE)


class ConnectionBody(Body):
    """``plugin``: a source; ``options``: all but those that select tables, passwords as references."""

    plugin: str = Field(max_length=100)
    options: dict[Key, Value] = Field(max_length=100)


class ChosenBody(ConnectionBody):
    """``tables``: names as `/discover/tables` has them; ``target``: an address as of `seatunnel copy`."""

    tables: list[Annotated[str, StringConstraints(max_length=1_000)]] = Field(min_length=1, max_length=TABLES_MAX)
    target: str = Field("console:", min_length=1, max_length=2_000)


def tables(request: Request, body: ConnectionBody) -> Response:
    """The tables of a connection: name, size, number of columns, key; or why one cannot be read. Reads no rows."""
    text = _safe(body, lambda connection: connection.listing_text())
    code, found = looked_at(request, "discover", JobBody(text=text))
    if isinstance(found, dict):
        return answer({"exit_code": code, **found})
    return answer({"exit_code": code, "tables": [_short(table) for table in found]})


def job(request: Request, body: ChosenBody) -> Response:
    """The text of a job file that reads the chosen tables. It is not stored."""
    return answer({"text": _safe(body, lambda connection: connection.job_text(body.tables, body.target))})


def _safe(body: ConnectionBody, made: Any) -> str:
    """A text without a secret. Raises ApiError."""
    if any(_PARAMETER.search(value) for value in body.options.values()):
        raise _refused("an option has a password in an address")
    try:
        text: str = made(Connection(body.plugin, body.options))
        DefinitionText.of(text, "connection")
    except JobFileError as error:
        first = error.problems[0]
        raise ApiError(422, "connection", f"{first.message} ({first.path})", first.remedy) from None
    except SeaTunnelError as error:
        raise ApiError(422, "connection", error.message, error.remedy) from None
    return text


def _refused(why: str) -> ApiError:
    return ApiError(422, "connection", why, "write it as a reference in the option password: ${env:NAME}")


def _short(table: dict[str, Any]) -> dict[str, Any]:
    """Without columns: thousands of tables fit into one answer."""
    if "problem" in table:
        return {"table": table["table"], "problem": table["problem"], "remedy": table["remedy"]}
    sizes = {"rows": table["rows"], "bytes": table["bytes"]}
    return {"table": table["table"], **sizes, "columns": len(table["columns"]), "key": table["key"]}
