"""Routes about definitions: stored job files with their revisions."""

from __future__ import annotations

import difflib
import time
from typing import Annotated, Any

from fastapi import Header, Query, Request
from pydantic import Field
from starlette.responses import Response

from seatunnel_py.control.definition_text import DefinitionText
from seatunnel_py.control.schedule import stored_schedules
from seatunnel_py.control.schedule.plain import next_start
from seatunnel_py.control.store import definitions, wishes
from seatunnel_py.control.store.definitions import Definition, Revision
from seatunnel_py.web.acts import Body, act_of, caller
from seatunnel_py.web.answers import answer
from seatunnel_py.web.context import context_of
from seatunnel_py.web.pages import After, Limit, Text
from seatunnel_py.web.problems import ApiError

TEXT_MAX = 2**20
IfMatch = Annotated[str, Header(max_length=40, description='the revision that was changed, as in "3"')]


class RevisionBody(Body):
    """A text. ``comment``: why it was changed."""

    text: str = Field(max_length=TEXT_MAX)
    comment: str = Field("", max_length=1_000)


class DefinitionBody(RevisionBody):
    """A new definition."""

    id: str = Field(max_length=63)


def listing(request: Request, q: Text = "", after: After = "", limit: Limit = 50) -> Response:
    """The definitions in the order of their ids, without their texts. ``next_start``: the next time of their
    schedules."""
    now = time.time()
    with context_of(request).database.reading() as connection:
        found = definitions.listing(connection, after=after, text=q, limit=limit + 1)
        total = definitions.number(connection)
        scheduled = stored_schedules.of_definitions(connection, [one.id for one in found])
    shown = []
    for one in found[:limit]:
        own = scheduled[one.id]
        shown.append({**_plain(one, text=False), "schedules": len(own), "next_start": next_start(own, now)})
    next = found[limit - 1].id if len(found) > limit else None
    return answer({"definitions": shown, "next": next, "total": total})


def create(request: Request, body: DefinitionBody) -> Response:
    """Save a new definition. A secret in its text is refused, with line and column."""
    text = DefinitionText.of(body.text, f"{body.id}.conf")
    act = act_of(request, "definition.create", body.id, digest=text.digest)
    with context_of(request).database.acting(act) as write:
        by = caller(request).name
        made = definitions.create(write.connection, body.id, text, by, body.comment, time.time())
        write.note(revision=made.number)
    return _saved(made, text, 201)


def show(request: Request, id: str) -> Response:
    """A definition with its newest text. The ETag is the number of the revision."""
    with context_of(request).database.reading() as connection:
        found, wish = definitions.found(connection, id), wishes.of_definition(connection, id)
    wished = {"policy": wish.policy.value, "run": wish.run, "failures": wish.failures, "held": wish.held}
    return answer({**_plain(found, text=True), "wish": wished}, ETag=f'"{found.newest.number}"')


def change(request: Request, id: str, body: RevisionBody, if_match: IfMatch = "") -> Response:
    """Save a new revision. 412: it was changed since the revision that `If-Match` names."""
    number = revision_of(if_match)
    text = DefinitionText.of(body.text, f"{id[:63]}.conf")
    with context_of(request).database.acting(act_of(request, "definition.change", id, digest=text.digest)) as write:
        by = caller(request).name
        made = definitions.change(write.connection, id, text, by, body.comment, time.time(), expected=number)
        write.note(revision=made.number)
    return _saved(made, text, 200)


def revision_of(if_match: str) -> int:
    """The number in `If-Match`. Raises ApiError if there is none."""
    expected = if_match.strip('"')
    if not expected.isdecimal():
        raise ApiError(428, "condition", "If-Match is missing", 'send the ETag that you have read, as in If-Match: "3"')
    return int(expected)


def delete(request: Request, id: str) -> Response:
    """Delete a definition that no run waits for or uses, and its schedules; its revisions stay."""
    with context_of(request).database.acting(act_of(request, "definition.delete", id)) as write:
        found = definitions.delete(write.connection, id, time.time())
        stored_schedules.remove_of(write.connection, id)
        write.note(revision=found.newest.number, digest=found.newest.digest)
    return answer({"id": id, "deleted": True})


def revisions(
    request: Request, id: str, before: Annotated[int | None, Query(ge=1)] = None, limit: Limit = 50
) -> Response:
    """The revisions of a definition, newest first, without their texts."""
    with context_of(request).database.reading() as connection:
        definitions.found(connection, id)
        found = definitions.revisions(connection, id, before=before, limit=limit + 1)
    next = found[limit - 1].number if len(found) > limit else None
    return answer({"revisions": [_revision(one, text=False) for one in found[:limit]], "next": next})


def revision(request: Request, id: str, number: int) -> Response:
    """One revision with its text."""
    with context_of(request).database.reading() as connection:
        return answer(_revision(definitions.revision(connection, id, number), text=True))


def diff(request: Request, id: str, begin: Annotated[int, Query(alias="from")], to: int) -> Response:
    """The difference of two revisions, in the form of `diff -u`."""
    with context_of(request).database.reading() as connection:
        first, second = (definitions.revision(connection, id, number) for number in (begin, to))
    return answer({"id": id, "from": begin, "to": to, "diff": difference(first, second)})


def difference(first: Revision, second: Revision) -> list[str]:
    """The lines that differ between two revisions."""
    names = (f"{first.definition} revision {first.number}", f"{second.definition} revision {second.number}")
    lines = difflib.unified_diff(first.text.splitlines(), second.text.splitlines(), *names, lineterm="")
    return list(lines)


def _saved(made: Revision, text: DefinitionText, status: int) -> Response:
    about = {**_revision(made, text=False), "id": made.definition, "variables": sorted(text.variables)}
    where = f"/api/v1/definitions/{made.definition}"
    return answer(about, status, ETag=f'"{made.number}"', **({"Location": where} if status == 201 else {}))


def _plain(found: Definition, *, text: bool) -> dict[str, Any]:
    newest = _revision(found.newest, text=text)
    return {"id": found.id, "created_at": found.created_at, "created_by": found.created_by, "newest": newest}


def _revision(found: Revision, *, text: bool) -> dict[str, Any]:
    about = {"number": found.number, "digest": found.digest, "author": found.author, "comment": found.comment}
    return {**about, "at": found.at, **({"text": found.text} if text else {})}
