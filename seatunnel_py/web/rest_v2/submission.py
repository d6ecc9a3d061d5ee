"""Reads what clients submit: a job file as JSON or HOCON, as the body or as a file of a form. Pure."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from email.message import Message
from email.parser import BytesParser
from email.policy import HTTP
from pathlib import PurePosixPath
from typing import Any

from seatunnel_py.config.guard import decode
from seatunnel_py.config.job_file import loads
from seatunnel_py.web.pages import chosen_of
from seatunnel_py.web.problems import ApiError
from seatunnel_py.web.rest_v2.job_numbers import own_number

PREFIX = "submitted-"
JSON, HOCON, SQL = "json", "hocon", "sql"
FORMATS = (JSON, HOCON, SQL)
_OF_SUFFIX = {".json": JSON, ".conf": HOCON, ".config": HOCON, ".sql": SQL}
FIELD = "config_file"
NAME_MAX, SLUG_MAX = 200, 40


@dataclass(frozen=True, slots=True)
class Submission:
    """A job to be started. ``definition``: the id under which its text is stored; ``job``: the number that it is to
    have, empty: any; ``resumes``: the job of this number goes on from its newest checkpoint."""

    text: str
    name: str
    definition: str
    job: str
    resumes: bool


def submission(body: bytes, format: str, parameters: Mapping[str, str]) -> Submission:
    """The job that a request submits. ``parameters``: of its address. Raises ApiError, and JobFileError for a text
    that cannot be read."""
    chosen = chosen_of(format.lower() or JSON, FORMATS, "format")
    if parameters.get("dryRun") or parameters.get("dry-run"):
        raise ApiError(400, "request", "a dry run is not possible here", "POST /api/v1/check, or `seatunnel check`")
    if chosen == SQL:
        remedy = "submit it as hocon or json, with an Sql transform for the query"
        raise ApiError(400, "request", "job files in the format sql are not supported", remedy)
    if not body.strip():
        raise ApiError(400, "request", "the body is empty", "send a job file as the body")
    name, job = parameters.get("jobName", "").strip(), parameters.get("jobId", "").strip()
    if len(name) > NAME_MAX or not name.isprintable():
        raise ApiError(400, "request", f"jobName has at most {NAME_MAX} printable characters")
    resumes = parameters.get("isStartWithSavePoint", "").lower() == "true"
    if job and not own_number(job):
        raise ApiError(400, "request", "jobId is a number from 1 to 9223372036854775807", "leave it out to get one")
    if resumes and not job:
        raise ApiError(400, "request", "isStartWithSavePoint needs a jobId", "name the job that goes on")
    text = _json(body, name) if chosen == JSON else _hocon(body, name)
    named = loads(text, {}, file="job.conf", root=None, environment={}, decrypt=False).env.job_name
    return Submission(text, named, definition_id(named), job, resumes)


def definition_id(name: str) -> str:
    """The id of the definition for jobs of this name."""
    slug = re.sub(r"[^A-Za-z0-9_.-]+", "-", name)[:SLUG_MAX].strip("-.")
    mark = "" if slug == name else f"-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    return f"{PREFIX}{slug}{mark}"


def _hocon(body: bytes, name: str) -> str:
    text = decode(body, "job.conf")
    return f"{text}\nenv {{ job.name = {json.dumps(name)} }}\n" if name else text


def _json(body: bytes, name: str) -> str:
    found = plain_json(body)
    if not isinstance(found, dict):
        raise ApiError(400, "request", "the body is not a JSON object", "send a job file, or add format=hocon")
    return json_text(found, name)


def json_text(job: dict[str, Any], name: str) -> str:
    """The text of a job in JSON; ``name``: in place of its own, empty: it keeps that."""
    if not name:
        return json.dumps(job, indent=1, ensure_ascii=False)
    env = dict(job["env"]) if isinstance(job.get("env"), dict) else {}
    if isinstance(env.get("job"), dict):
        env["job"] = {key: value for key, value in env["job"].items() if key != "name"}
    return json.dumps({**job, "env": {**env, "job.name": name}}, indent=1, ensure_ascii=False)


def plain_json(body: bytes) -> Any:
    """A body in JSON. Raises ApiError for another one."""
    if not body.strip():
        raise ApiError(400, "request", "the body is empty", "send JSON")
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise ApiError(400, "request", "the body is not JSON", "send JSON, or add format=hocon") from None


def uploaded(body: bytes, content_type: str) -> tuple[bytes, str]:
    """The file of a form, and its format. Raises ApiError if there is none."""
    head = f"Content-Type: {content_type}\r\n\r\n".encode("latin-1", "replace")
    form = BytesParser(policy=HTTP).parsebytes(head + body)
    parts = list(form.iter_parts()) if form.get_content_type() == "multipart/form-data" else []
    for part in parts:
        if _parameter(part, "name") == FIELD and (file := part.get_filename()):
            suffix = PurePosixPath(file).suffix.lower()
            if suffix not in _OF_SUFFIX:
                valid = ", ".join(_OF_SUFFIX)
                raise ApiError(400, "request", f"a file with the ending {suffix!r} is not known", f"valid: {valid}")
            content = part.get_payload(decode=True)
            return content if isinstance(content, bytes) else b"", _OF_SUFFIX[suffix]
    raise ApiError(400, "request", f"the form has no file {FIELD!r}", f"send multipart/form-data with {FIELD}")


def _parameter(part: Message, name: str) -> str:
    return str(part.get_param(name, "", header="content-disposition"))
