"""Sends one POST to the address of a target.

Rules. (1) The connection goes to the addresses that were checked (``pinned_socket.py``); no proxy of the environment is
used. (2) A redirect is not followed: it is a failure. (3) All of it takes at most ``ATTEMPT_SECONDS``. (4) Of the
answer at most ``ANSWER_BYTES`` are read, and nothing but the code and a short text is kept.
"""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from seatunnel_py import __version__
from seatunnel_py.control.notify.sending.pinned_socket import Deadline, HostRoute, SendError, TargetRules, connected
from seatunnel_py.redaction import redacted_text
from seatunnel_py.terminal_text import terminal_text

ANSWER_BYTES = 4_096
SHOWN_CHARACTERS = 200
GONE = 410


class AnswerError(SendError):
    """The target has answered, but not with success. ``code``: of its answer."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class WebAddress:
    """An address without its path, which may be a secret, and the rest of it."""

    scheme: str
    host: str
    port: int
    target: str = field(repr=False)

    @classmethod
    def of(cls, url: str) -> WebAddress:
        """Read an address. Raises ValueError without its text."""
        parts = urlsplit(url)
        if parts.scheme not in ("https", "http") or not parts.hostname:
            raise ValueError("it is not an address such as https://hooks.example.com/path")
        if parts.username is not None or parts.password is not None:
            raise ValueError("it holds a user or a password; give them as a header")
        if any(ord(letter) <= 32 or ord(letter) >= 127 for letter in url):
            raise ValueError("it holds a blank, a control or a letter that is not ASCII")
        port = parts.port or (443 if parts.scheme == "https" else 80)
        return cls(parts.scheme, parts.hostname, port, f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}")

    @property
    def origin(self) -> str:
        """The address as it may be shown."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"

    def route(self, rules: TargetRules) -> HostRoute:
        """The way to it."""
        return HostRoute(self.host, self.port, rules, plain=self.scheme == "http")


class _PinnedHttp(http.client.HTTPConnection):
    """A connection over a socket that was made by our rules."""

    def __init__(
        self, address: WebAddress, route: HostRoute, deadline: Deadline, ca_file: str | None, open: ExitStack
    ) -> None:
        default = {"https": 443, "http": 80}[address.scheme] == address.port
        host = f"[{address.host}]" if ":" in address.host else address.host
        super().__init__(address.host, address.port)
        self.named = host if default else f"{host}:{address.port}"
        self._route, self._deadline, self._open = route, deadline, open
        self._context = ssl.create_default_context(cafile=ca_file) if address.scheme == "https" else None

    def connect(self) -> None:
        """Connect, once."""
        made = connected(self._route, self._deadline)
        self._open.callback(made.close)
        made.settimeout(self._deadline.left)
        self._open.enter_context(self._deadline.over(made))
        if self._context is not None:
            made = self._context.wrap_socket(made, server_hostname=self.host)
        self.sock = made


def post(
    address: WebAddress,
    headers: Mapping[str, str],
    body: bytes,
    rules: TargetRules,
    ca_file: str | None,
    *,
    reads: bool,
) -> tuple[int, bytes]:
    """Send a body; return the code of a success and, with ``reads``, the beginning of the answer. Raises SendError, and
    AnswerError for any other answer."""
    deadline = Deadline()
    with ExitStack() as open:
        connection = _PinnedHttp(address, address.route(rules), deadline, ca_file, open)
        open.callback(connection.close)
        given = {"Host": connection.named, "User-Agent": f"seatunnel-py/{__version__}", "Connection": "close"}
        try:
            connection.request("POST", address.target, body, {**given, **headers})
            answer = connection.getresponse()
            good = 200 <= answer.status < 300
            read = answer.read(ANSWER_BYTES) if reads or not good else b""
        except (OSError, http.client.HTTPException, ValueError) as error:
            why = "no answer in time" if deadline.passed else _reason(error)
            raise SendError(f"{address.host}: {why}") from None
        if deadline.passed:
            raise SendError(f"{address.host}: no answer in time")  # half an answer is none
    if not good:
        raise AnswerError(answer.status, _shown(answer.status, read))
    return answer.status, read


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not valid: {error.verify_message}"
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return f"its answer is not HTTP ({type(error).__name__})"


def _shown(code: int, body: bytes) -> str:
    if 300 <= code < 400:
        return f"it has answered {code}: redirects are not followed"
    text = terminal_text(redacted_text(body.decode(errors="replace"))).strip()[:SHOWN_CHARACTERS]
    return f"it has answered {code}{': ' if text else ''}{' '.join(text.split())}"


def json_bytes(plain: object) -> bytes:
    """A document in JSON, in ASCII."""
    return json.dumps(plain, separators=(",", ":")).encode("ascii")
