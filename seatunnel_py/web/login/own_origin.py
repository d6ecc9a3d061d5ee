"""Whether a request of a browser comes from a page of this server.

Rules. (1) Cookies ignore ports, so another service on the same host is a stranger: the same *site* is not enough, the
*origin* must be the same. (2) ``Sec-Fetch-Site`` decides where a browser sends it; else ``Origin`` must be the address
that the request calls. (3) A write without both is not from a page of ours.
"""

from __future__ import annotations

from enum import StrEnum
from urllib.parse import urlsplit

from starlette.datastructures import Headers

_PORTS = {"http": 80, "https": 443}


class RequestOrigin(StrEnum):
    """``UNKNOWN``: the client does not name it, as programs do not."""

    OWN = "own"
    FOREIGN = "foreign"
    UNKNOWN = "unknown"


def origin_of(headers: Headers) -> RequestOrigin:
    """The origin of the page that has sent a request."""
    site = headers.get("sec-fetch-site")
    if site == "none":  # typed by the person, or from a bookmark: there is no page
        site = None
    if site is not None:
        return RequestOrigin.OWN if site == "same-origin" else RequestOrigin.FOREIGN
    origin = headers.get("origin")
    if origin is None:
        return RequestOrigin.UNKNOWN
    return RequestOrigin.OWN if is_same(origin, headers.get("host", "")) else RequestOrigin.FOREIGN


def is_same(origin: str, host: str) -> bool:
    """Whether an origin is the server that a Host header names: name and port. The host was checked before; a proxy may
    speak another scheme than the server, so that is not compared."""
    try:
        found = urlsplit(origin)
        named = urlsplit(f"{found.scheme}://{host}")
        standard = _PORTS.get(found.scheme)
        same = (found.hostname, found.port or standard) == (named.hostname, named.port or standard)
    except ValueError:
        return False
    return standard is not None and bool(found.hostname) and same
