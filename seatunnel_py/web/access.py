"""Decides who may call a route: by the token or the session of the request, its role, and its rate.

Rules. (1) A token comes in the Authorization header only, never in a URL; with that header no cookie counts. (2) A
verified token is remembered for less than half a second, so that a revoked one ends within a second. (3) A route
without a role is for probes, without a token only from this machine; or it is public: the page, and the log-in. (4)
Refused requests are counted, and a refused write leaves an audit row; many of one caller leave a few, because they must
not fill the disk.
"""

from __future__ import annotations

import base64
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock

from fastapi import Request

from seatunnel_py.control.store import tokens
from seatunnel_py.control.store.audit import Act
from seatunnel_py.control.store.database import Database, StoreUnwritableError
from seatunnel_py.control.store.sessions import BrowserSession
from seatunnel_py.control.store.tokens import Role, Token
from seatunnel_py.web.login.browser_sessions import BrowserSessions
from seatunnel_py.web.login.verified import VerifiedCache
from seatunnel_py.web.problems import ApiError, request_id_of
from seatunnel_py.web.settings import ServerSettings, is_loopback

BUCKETS_MAX = 10_000
NOTED_PER_SECOND, NOTED_BURST = 0.5, 60
ANONYMOUS = "anonymous"
_CHALLENGE = {"WWW-Authenticate": 'Bearer realm="seatunnel"'}


@dataclass(frozen=True, slots=True)
class Need:
    """The needs of a route. ``role``: None for probes, and for what is public. ``costly``: it opens connections, or
    starts a process. ``checks``: it starts a short process that connects nowhere, and an editor asks at each pause of
    typing. ``public``: it holds no data, so it is answered from any address without a token. ``status_open``: some
    addresses may call it without a token, for the status of one job."""

    role: Role | None
    costly: bool = False
    public: bool = False
    checks: bool = False
    status_open: bool = False


@dataclass(frozen=True, slots=True)
class Caller:
    """``token``: None for a request that needs none; ``session``: None for a request of a program."""

    token: Token | None = None
    session: BrowserSession | None = None


class Access:
    """Checks requests. ``failed``: called for each token that is not valid."""

    def __init__(self, database: Database, settings: ServerSettings, failed: Callable[[], None]) -> None:
        self._database, self._settings, self._failed = database, settings, failed
        self._verified = VerifiedCache(database, tokens.verified)
        self._rate = Rate(settings.requests_per_second, settings.requests_per_second * 2)
        self._noted = Rate(NOTED_PER_SECOND, NOTED_BURST)
        self._costly = Rate(settings.costly_per_minute / 60, settings.costly_per_minute)
        self._checks = Rate(settings.checks_per_minute / 60, settings.checks_per_minute / 2)
        self._logins = Rate(settings.logins_per_minute / 60, settings.logins_per_minute)
        self.sessions = BrowserSessions(database, settings)

    def check(self, request: Request, need: Need) -> Caller:
        """The caller of the request. Raises ApiError."""
        address = address_of(request)
        if need.public:
            self._in_time(f"address {address}", need)
            return Caller()
        caller = self._caller(request)
        token = caller.token
        known = need.status_open and "authorization" not in request.headers
        if known and token is None and address in self._settings.seatunnel.status_open:
            self._in_time(f"address {address}", need)
            return caller
        if token is None and (need.role is not None or not is_loopback(address)):
            self._in_time(f"address {address}", need)
            self._refused(request, ANONYMOUS, address)
            remedy = "send Authorization: Bearer TOKEN; `seatunnel server token create` makes one"
            what = (
                "the token is not valid: it is wrong, expired or revoked"
                if self.given(request)
                else "a token is needed"
            )
            raise ApiError(401, "token", what, remedy, headers=_CHALLENGE)
        self._in_time(f"token {token.id}" if token else f"address {address}", need)
        if token is not None and need.role is not None and not token.role.allows(need.role):
            self._refused(request, token.id, address)
            why = f"this needs the role {need.role.value}, and the token {token.name!r} has {token.role.value}"
            raise ApiError(403, "role", why, "ask an administrator for a token with that role")
        if token is not None and caller.session is not None:
            self._require_own_page(request, token)
        return caller

    def _caller(self, request: Request) -> Caller:
        if "authorization" not in request.headers:
            session = self.sessions.of_request(request)
            return Caller() if session is None else Caller(session.token, session)
        given = self.given(request)
        token = self.token(given) if given else None
        if given and token is None:
            self._failed()
        return Caller(token)

    def given(self, request: Request) -> str:
        """The token in the Authorization header; empty if there is none."""
        return _token_of(request, basic=self._settings.seatunnel.enabled)

    def _require_own_page(self, request: Request, token: Token) -> None:
        try:
            self.sessions.require_own_page(request)
        except ApiError:
            self._refused(request, token.id, address_of(request))
            raise

    def login_in_time(self, request: Request) -> None:
        """Count a try to log in. Raises ApiError for too many of an address."""
        address = address_of(request)
        if waits := self._logins.taken(f"address {address}"):
            self._refused(request, ANONYMOUS, address)
            raise _too_many(waits)

    def login_failed(self) -> None:
        """Count a try with a wrong token or code."""
        self._failed()

    def token(self, text: str) -> Token | None:
        """The valid token with this text. Raises ApiError if the database cannot be read."""
        found, asked = self._verified.find(text)
        if found is not None and asked:
            self._note_use(found)
        return found

    def forget(self) -> None:
        """Read all tokens and sessions again at their next request: one has ended."""
        self._verified.forget()
        self.sessions.forget()

    def _note_use(self, token: Token) -> None:
        now = time.time()
        if token.used_at is not None and abs(now - token.used_at) < tokens.USED_EVERY_SECONDS:
            return
        with suppress(StoreUnwritableError), self._database.writing() as connection:
            tokens.used(connection, token, now)

    def _in_time(self, caller: str, need: Need) -> None:
        waits = self._rate.taken(caller)
        if not waits and need.costly:
            waits = self._costly.taken(caller)
        if not waits and need.checks:
            waits = self._checks.taken(caller)
        if waits:
            raise _too_many(waits)

    def _refused(self, request: Request, actor: str, address: str) -> None:
        if request.method == "GET" or self._noted.taken(f"{actor} {address}"):
            return
        object = str(next(iter(request.path_params.values()), ""))[:100]
        route = getattr(request.scope.get("route"), "path_format", "")
        act = Act(
            actor,
            f"{request.method} {route}",
            object,
            address,
            result="refused: not allowed",
            request=request_id_of(request),
        )
        with suppress(StoreUnwritableError):
            self._database.refused(act)


class Rate:
    """Token buckets by caller: ``per_second`` in the mean, ``burst`` at once."""

    def __init__(self, per_second: float, burst: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second, self._burst, self._clock = per_second, burst, clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = Lock()

    def taken(self, caller: str) -> float:
        """Take one. Returns 0, or the seconds until there is one again."""
        now = self._clock()
        with self._lock:
            left, at = self._left.pop(caller, (self._burst, now))
            left = min(self._burst, left + (now - at) * self._per_second)
            waits = 0.0 if left >= 1 else (1 - left) / self._per_second
            self._left[caller] = (left - 1 if not waits else left, now)
            while len(self._left) > BUCKETS_MAX:
                self._left.popitem(last=False)
        return waits


def _too_many(waits: float) -> ApiError:
    seconds = max(1, round(waits))
    return ApiError(429, "rate", "too many requests", f"wait {seconds} s", headers={"Retry-After": str(seconds)})


def _token_of(request: Request, *, basic: bool) -> str:
    """The token in the Authorization header; empty if there is none. ``basic``: also as a password, with any name."""
    scheme, _, text = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return text.strip()
    if not basic or scheme.lower() != "basic":
        return ""
    try:
        return base64.b64decode(text.strip(), validate=True).decode().partition(":")[2].strip() or "-"
    except ValueError:
        return "-"  # no token, and not the same as none


def address_of(request: Request) -> str:
    """The address of the client, as trusted proxies report it."""
    return request.client.host if request.client else ""
