"""Delivers lineage events: to a server, into a file, or to the standard error of the driver.

A delivery either succeeds, or raises ``NotDeliveredError``, whose ``again`` means that another attempt can help.
Redirects are not followed: a key goes only to the address that was configured.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from seatunnel_py import __version__
from seatunnel_py.config.env import LineageTransport
from seatunnel_py.openlineage.settings import LineageSettings
from seatunnel_py.redaction import redacted_text

REQUEST_SECONDS = 5.0
ANSWER_BYTES_MAX = 500
_AGAIN = frozenset({408, 425, 429})

Deliver = Callable[[bytes], None]


class NotDeliveredError(Exception):
    """An event was not delivered. ``again``: a later attempt may succeed."""

    def __init__(self, message: str, *, again: bool) -> None:
        super().__init__(redacted_text(message))
        self.again = again


def transport_of(settings: LineageSettings) -> Deliver:
    """A function that delivers one event, which is JSON without line breaks."""
    match settings.transport:
        case LineageTransport.HTTP:
            return lambda event: _post(settings.target, settings.headers, event)
        case LineageTransport.FILE:
            return lambda event: _append(Path(settings.target), event)
        case LineageTransport.CONSOLE:
            return _print


def _post(address: str, headers: Mapping[str, str], event: bytes) -> None:
    import http.client
    import urllib.error
    import urllib.request

    opener = urllib.request.OpenerDirector()  # one that follows no redirects
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
    ):
        opener.add_handler(handler)
    request = urllib.request.Request(address, event, method="POST")
    request.add_header("Content-Type", "application/json")
    request.add_header("User-Agent", f"seatunnel-py/{__version__}")
    for name, value in headers.items():
        request.add_header(name, value)
    try:
        with opener.open(request, timeout=REQUEST_SECONDS) as answer:
            answer.read(ANSWER_BYTES_MAX)
    except urllib.error.HTTPError as error:
        with error:
            text = error.read(ANSWER_BYTES_MAX).decode(errors="replace").strip()
        again = error.code in _AGAIN or error.code >= 500
        raise NotDeliveredError(f"{address} answers {error.code} {text}".strip(), again=again) from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        cause = getattr(error, "reason", error)
        raise NotDeliveredError(f"{address} cannot be reached: {cause}", again=True) from None


def _append(path: Path, event: bytes) -> None:
    """Append with one call, so that events of several drivers do not mix."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(descriptor, event + b"\n")
        finally:
            os.close(descriptor)
    except OSError as error:
        raise NotDeliveredError(f"{path} cannot be written: {error.strerror or error}", again=True) from None


def _print(event: bytes) -> None:
    try:
        sys.stderr.buffer.write(event + b"\n")
        sys.stderr.flush()
    except (OSError, ValueError) as error:
        raise NotDeliveredError(f"the standard error cannot be written: {error}", again=False) from None
