"""Decides where the lineage events of a run go, by the options ``openlineage.*`` and the environment. Pure.

Rules. (1) An option of the job file has precedence over a variable. (2) The variables are those of OpenLineage's own
clients. (3) Nothing is sent unless a transport, an address or a file is set.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from seatunnel_py.api.options import Secret
from seatunnel_py.config.env import ENDPOINT, NAMESPACE, LineageTransport, OpenLineageOptions, require_url
from seatunnel_py.config.shade import REFERENCE, Secrets
from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.redaction import keep_secret

VARIABLES = ("OPENLINEAGE_URL", "OPENLINEAGE_ENDPOINT", "OPENLINEAGE_API_KEY", "OPENLINEAGE_NAMESPACE",
             "OPENLINEAGE_DISABLED")  # fmt: skip
"""Variables that choose where the events of all jobs go."""


@dataclass(frozen=True, slots=True)
class LineageSettings:
    """Target of the events of a run. ``headers`` hold secrets."""

    transport: LineageTransport
    target: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    namespace: str = NAMESPACE
    sql: bool = False
    wait_seconds: float = 5.0


def settings_of(
    options: OpenLineageOptions, environment: Mapping[str, str], secrets: Secrets
) -> LineageSettings | None:
    """Choose the target of the events; None: no events. Raises SeaTunnelError for a wrong variable or reference."""
    disabled = options.disabled
    if disabled is None:
        disabled = environment.get("OPENLINEAGE_DISABLED", "").strip().lower() == "true"
    if disabled:
        return None
    given = _of_environment(environment)
    own = options.transport is not None or options.url is not None or options.file is not None
    transport = options.transport or _implied(options)
    if not own:
        if given.get("type") is None:
            return None
        transport = _transport(given["type"])
    namespace = options.namespace or environment.get("OPENLINEAGE_NAMESPACE") or NAMESPACE
    target, headers = "", dict[str, str]()
    if transport is LineageTransport.HTTP:
        target, headers = _address(options, given, environment, secrets)
    elif transport is LineageTransport.FILE:
        target = options.file or str(given.get("log_file_path", ""))
        if not target:
            raise SeaTunnelError("lineage events go to a file, but none is named", "set openlineage.file in env")
    return LineageSettings(transport, target, headers, namespace, options.sql, options.wait_seconds)


def _implied(options: OpenLineageOptions) -> LineageTransport:
    return LineageTransport.FILE if options.file is not None and options.url is None else LineageTransport.HTTP


def _transport(name: Any) -> LineageTransport:
    try:
        return LineageTransport(str(name).lower())
    except ValueError:
        known = ", ".join(LineageTransport)
        raise SeaTunnelError(
            f"OPENLINEAGE__TRANSPORT__TYPE is {name!r}, which is not supported here", f"use one of {known}"
        ) from None


def _of_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    """The transport that variables describe: ``OPENLINEAGE__TRANSPORT__…``, or the older ``OPENLINEAGE_URL``."""
    found: dict[str, Any] = {}
    if url := environment.get("OPENLINEAGE_URL"):
        found = {"type": "http", "url": url, "endpoint": environment.get("OPENLINEAGE_ENDPOINT")}
        if key := environment.get("OPENLINEAGE_API_KEY"):
            found["api_key"] = key
    prefix = "OPENLINEAGE__TRANSPORT__"
    for name in ("TYPE", "URL", "ENDPOINT", "LOG_FILE_PATH"):
        if value := environment.get(prefix + name):
            found[name.lower()] = value
    if auth := environment.get(prefix + "AUTH"):
        found["api_key"] = _key_in(auth)
    return found


def _key_in(auth: str) -> str | None:
    """The key in an ``auth`` of OpenLineage's clients: a JSON object."""
    try:
        plain = json.loads(auth)
    except ValueError:
        return None
    names = ("apiKey", "apikey", "api_key")
    return next((str(plain[name]) for name in names if isinstance(plain, dict) and plain.get(name)), None)


def _revealed(value: Secret, name: str, secrets: Secrets) -> str:
    """The value of an option, with its references to secrets replaced."""
    try:
        found = REFERENCE.sub(lambda match: secrets.reveal(match[1], match[2].strip()), value.get_secret_value())
    except LookupError as error:
        raise SeaTunnelError(f"openlineage.{name}: {error.args[0]}", "set it, or correct the reference") from None
    keep_secret([found])
    return found


def _address(
    options: OpenLineageOptions, given: Mapping[str, Any], environment: Mapping[str, str], secrets: Secrets
) -> tuple[str, dict[str, str]]:
    """The address to post to, and the headers. The key of the environment goes to its own address only."""
    url = options.url or given.get("url") or ""
    try:
        require_url(url)
    except ValueError as error:
        remedy = "set openlineage.url in env, or OPENLINEAGE_URL"
        raise SeaTunnelError(f"lineage events go to a server, but its {error}", remedy) from None
    endpoint = options.endpoint or given.get("endpoint") or environment.get("OPENLINEAGE_ENDPOINT") or ENDPOINT
    headers = {name: _revealed(value, f"headers.{name}", secrets) for name, value in options.headers.items()}
    key = None if options.api_key is None else _revealed(options.api_key, "api-key", secrets)
    if key is None and url == given.get("url"):
        key = given.get("api_key")
    if key:
        keep_secret([key])
        headers["Authorization"] = f"Bearer {key}"
    return f"{url.rstrip('/')}/{endpoint.lstrip('/')}", headers
