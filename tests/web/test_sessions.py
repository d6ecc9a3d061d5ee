"""Sessions of browsers: who gets one, what it opens, and when it ends (T1, T8, T13)."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import update

from seatunnel_py.control.store import sessions, tokens
from seatunnel_py.control.store.audit import Act
from seatunnel_py.control.store.tables import SESSION
from seatunnel_py.control.store.tokens import Role, TokenWish
from seatunnel_py.web.route_table import API, ROUTES
from tests.web.running import CALM, Served, serving
from tests.web.test_access import NOTHING, path_of

WRITES = [route for route in ROUTES if route.method != "GET" and not route.need.public]
PAGE = {"Sec-Fetch-Site": "same-origin"}


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Served]:
    """A server whose sessions a test may end."""
    with serving(tmp_path) as found:
        yield found


class Browser:
    """A browser on the page of the server: it keeps cookies, and sends its origin."""

    def __init__(self, served: Served) -> None:
        self.client = httpx.Client(base_url=served.url, timeout=30, trust_env=False, verify=False, headers=PAGE)
        self.csrf = ""

    def login(self, **body: str) -> httpx.Response:
        answer = self.client.post(f"{API}/session", json=body)
        self.csrf = answer.json().get("csrf", "")
        return answer

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> httpx.Response:
        named = {"X-CSRF-Token": self.csrf} | {name.replace("_", "-"): value for name, value in headers.items()}
        return self.client.request(method, f"{API}/{path}", json={} if body is None else body, headers=named)

    @property
    def cookie(self) -> str:
        (found,) = self.client.cookies.jar
        return str(found.value)


@contextmanager
def browser(served: Served, role: Role = Role.READ, token: str = "") -> Iterator[Browser]:
    """A browser that has logged in."""
    made = Browser(served)
    with closing(made.client):
        assert made.login(token=token or served.tokens[role]).status_code == 201
        yield made


def test_a_token_is_exchanged_for_a_cookie(own: Served) -> None:
    """U47: That no script reads, no other site sends, and no other port of the host has."""
    with browser(own, Role.EDIT) as page:
        (set_cookie,) = page.client.post(f"{API}/session", json={"token": own.tokens[Role.EDIT]}).headers.get_list(
            "set-cookie"
        )
        name, *rest = set_cookie.split("; ")
        assert name.startswith(f"seatunnel-session-{own.context.settings.port}=")
        assert set(rest) >= {"HttpOnly", "SameSite=strict", "Path=/"} and "Secure" not in rest
        assert "Domain" not in set_cookie
        about = page.client.get(f"{API}/whoami").json()
        assert (about["role"], about["name"], about["data"]) == ("edit", "edit", False)
        assert 3_500 < about["expires"] - about["at"] <= 3_600  # the token itself is good for an hour
        assert page.send("POST", "check", {"text": ""}, X_CSRF_Token=about["csrf"]).status_code == 200


def test_with_tls_the_cookie_is_secure_and_of_this_host_only() -> None:
    """Also where a proxy speaks TLS."""
    from seatunnel_py.web.login.browser_sessions import BrowserSessions

    settings = replace(CALM, port=5801, trusted_proxies=("10.0.0.5",))
    from starlette.responses import Response

    response = Response()
    session = sessions.BrowserSession("s", tokens.Token("t", "t", Role.READ, False, 0, "", 2e9), 0, time.time() + 60, 0)
    BrowserSessions(None, settings).give(response, session, "text")  # type: ignore[arg-type] - no cookie is read
    set_cookie = response.headers["set-cookie"]

    assert set_cookie.startswith("__Host-seatunnel-session-5801=text;")
    assert {"Secure", "HttpOnly", "Path=/", "SameSite=strict"} <= set(set_cookie.split("; "))


@pytest.mark.parametrize("role", Role)
def test_t1_a_session_opens_what_its_role_opens(served: Served, role: Role) -> None:
    """Every route, as with the token itself."""
    with browser(served, role) as page:
        for route in ROUTES:
            if route.path == f"{API}/session":
                continue
            path = path_of(route.path if route.method == "GET" else route.path.replace("{run}", NOTHING))
            headers = {"X-CSRF-Token": page.csrf}
            write = {} if route.method == "GET" else {"json": {}}
            with page.client.stream(route.method, path, headers=headers, **write) as answer:
                allowed = route.need.role is None or role.allows(route.need.role)
                assert (answer.status_code == 403) is not allowed, (route.method, path)
                assert answer.status_code not in (401, 500)


HOSTILE = {
    "without a token of the page": {"X-CSRF-Token": ""},
    "with another one": {"X-CSRF-Token": "0" * 64},
    "from another port of the host": {"Sec-Fetch-Site": "same-site"},
    "from another site": {"Sec-Fetch-Site": "cross-site"},
    "typed by a person": {"Sec-Fetch-Site": "none"},
    "with the origin of another port": {"Sec-Fetch-Site": None, "Origin": "http://127.0.0.1:1"},
    "with the origin of another host": {"Sec-Fetch-Site": None, "Origin": "http://example.com"},
    "with no origin": {"Sec-Fetch-Site": None, "Origin": "null"},
    "without any sign of its page": {"Sec-Fetch-Site": None},
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_t8_a_write_that_no_page_of_ours_has_made_is_refused(served: Served, kind: str) -> None:
    """Every route that writes."""
    with browser(served, Role.ADMIN) as page:
        for route in WRITES:
            headers = {**PAGE, "X-CSRF-Token": page.csrf, **HOSTILE[kind]}
            request = page.client.build_request(route.method, path_of(route.path.replace("{run}", NOTHING)), json={})
            for name, value in headers.items():
                request.headers.pop(name, None)
                if value is not None:
                    request.headers[name] = value
            answer = page.client.send(request)
            assert (answer.status_code, answer.json()["type"][-6:]) in ((403, "origin"), (403, "m:csrf")), route.path
        assert page.client.get(f"{API}/whoami").status_code == 200


def test_t8_an_origin_of_our_own_is_enough_where_a_browser_sends_no_more(served: Served) -> None:
    """Older browsers."""
    with browser(served, Role.EDIT) as page:
        del page.client.headers["Sec-Fetch-Site"]
        assert page.send("POST", "check", {"text": ""}, Origin=served.url).status_code == 200


@pytest.mark.parametrize("site", ["same-site", "cross-site"])
def test_t8_no_page_of_another_origin_reads(served: Served, site: str) -> None:
    """Also where the browser has sent the cookie."""
    with browser(served) as page:
        for path in ("runs", "live", "whoami"):
            answer = page.client.get(f"{API}/{path}", headers={"Sec-Fetch-Site": site})
            assert (answer.status_code, answer.json()["type"][-6:]) == (403, "origin")
        assert page.client.get(f"{API}/runs", headers={"Sec-Fetch-Site": "none"}).status_code == 200


@pytest.mark.parametrize("headers", [{"Sec-Fetch-Site": "cross-site"}, {"Origin": "http://127.0.0.1:1"}])
def test_t8_no_page_of_another_origin_logs_in(served: Served, headers: dict[str, str]) -> None:
    """A person would work in the session of somebody else."""
    with served.client(None) as client:
        answer = client.post(f"{API}/session", json={"token": served.tokens[Role.READ]}, headers=headers)
        assert (answer.status_code, answer.json()["type"][-6:]) == (403, "origin")
        assert "set-cookie" not in answer.headers


def test_with_both_the_token_of_the_header_counts(served: Served) -> None:
    """A cookie gives a program nothing, and a wrong token does not fall back to it."""
    with browser(served, Role.ADMIN) as page:
        for text, status in ((served.tokens[Role.READ], 403), ("stp_wrong", 401), ("", 401)):
            headers = {"Authorization": f"Bearer {text}".strip()}
            assert page.client.get(f"{API}/tokens", headers=headers).status_code == status
        headers = {"Authorization": f"Bearer {served.tokens[Role.READ]}"}
        assert page.client.get(f"{API}/whoami", headers=headers).json()["csrf"] is None
        assert page.client.get(f"{API}/tokens").status_code == 200


def test_a_cookie_that_a_stranger_has_set_is_not_taken_over(own: Served) -> None:
    """Fixation: a log-in always makes a new one, and ends that before; two cookies of the name open nothing."""
    with browser(own) as page:
        name, before = f"seatunnel-session-{own.context.settings.port}", page.cookie
        page.login(token=own.tokens[Role.READ])
        assert page.cookie != before
        with own.client(None) as other:
            assert other.get(f"{API}/runs", headers={"Cookie": f"{name}={before}"}).status_code == 401
            both = f"{name}=chosen; {name}={page.cookie}"
            assert other.get(f"{API}/runs", headers={"Cookie": both}).status_code == 401
            assert other.get(f"{API}/runs", headers={"Cookie": f"{name}={page.cookie}"}).status_code == 200
            assert other.get(f"{API}/runs", headers={"Cookie": f"{name}-x={page.cookie}"}).status_code == 401
    chosen = Browser(own)
    with closing(chosen.client):
        chosen.client.cookies.set(name, "chosen-by-a-stranger", domain="127.0.0.1")
        answer = chosen.login(token=own.tokens[Role.READ])
        assert "chosen-by-a-stranger" not in answer.headers["set-cookie"]


def code_of(served: Served, at: float | None = None, token: str = "admin") -> str:
    with served.context.database.writing() as connection:
        (found,) = (one for one in tokens.listing(connection) if one.name == token)
        return sessions.new_code(connection, found, "test", time.time() if at is None else at)


def test_a_code_is_good_once(own: Served) -> None:
    """Also where ten browsers use it at the same moment; and for ten minutes."""
    code = code_of(own)

    def use(code: str) -> int:
        page = Browser(own)
        with closing(page.client):
            return page.login(code=code).status_code

    with ThreadPoolExecutor(10) as pool:
        found = sorted(pool.map(use, [code] * 10))
    assert found == [201] + [401] * 9
    assert use(code_of(own, time.time() - 601)) == 401
    assert use(code_of(own, time.time() - 590)) == 201
    assert [use(text) for text in ("", "x", own.tokens[Role.ADMIN])] == [422, 401, 401]


def test_a_code_of_a_revoked_token_is_void(own: Served) -> None:
    """It gives what the token gives."""
    token, _ = own.issue(Role.ADMIN, "leaving")
    code = code_of(own, token="leaving")
    revoke(own, token)
    page = Browser(own)
    with closing(page.client):
        assert page.login(code=code).status_code == 401


def revoke(served: Served, token: str) -> None:
    """As another process does."""
    with served.context.database.acting(Act("test", "token.revoke")) as write:
        tokens.revoke(write.connection, token, time.time())


class OpenStream:
    """The stream of a page; ``ended``: when."""

    def __init__(self, page: Browser) -> None:
        self.events: list[str] = []
        self.begun, self.done = threading.Event(), threading.Event()
        self.ended = 0.0
        self._page = page
        threading.Thread(target=self._read, daemon=True).start()
        assert self.begun.wait(10)

    def _read(self) -> None:
        url = f"{API}/live?topics=runs"
        # A test that is over closes the connection.
        with suppress(httpx.HTTPError), self._page.client.stream("GET", url) as answer:
            for line in answer.iter_lines():
                if line.startswith("event:"):
                    self.events.append(line.removeprefix("event: "))
                    self.begun.set()
        self.ended = time.monotonic()
        self.done.set()


def test_a_log_out_ends_the_session_and_its_streams(own: Served) -> None:
    """Within a second; other sessions of the same token go on."""
    with browser(own) as page, browser(own) as other:
        mine, others = OpenStream(page), OpenStream(other)
        cookie, begun = page.cookie, time.monotonic()
        answer = page.send("DELETE", "session")
        assert answer.status_code == 200 and "Max-Age=0" in answer.headers["set-cookie"]
        assert mine.done.wait(3) and mine.ended - begun <= 1.0
        assert mine.events[-1] == "farewell"
        with own.client(None) as client:
            stolen = {"Cookie": f"seatunnel-session-{own.context.settings.port}={cookie}"}
            assert client.get(f"{API}/runs", headers=stolen).status_code == 401
        assert other.client.get(f"{API}/runs").status_code == 200 and not others.done.is_set()
        assert page.send("DELETE", "session").status_code == 401
    assert own.send("DELETE", "session").status_code == 409


def test_a_revoked_token_ends_its_sessions_and_streams(own: Served) -> None:
    """Within a second, though another process has revoked it."""
    token, text = own.issue(Role.READ)
    with browser(own, token=text) as page:
        stream = OpenStream(page)
        begun = time.monotonic()
        revoke(own, token)
        assert stream.done.wait(3) and stream.ended - begun <= 1.0
        assert page.client.get(f"{API}/runs").status_code == 401


@pytest.mark.parametrize(
    "values", [{"expires_at": 1.0}, {"used_at": 0.0}, {"used_at": -sessions.IDLE_SECONDS}], ids=["old", "idle", "just"]
)
def test_a_session_ends_by_itself(own: Served, values: dict[str, float]) -> None:
    """Twelve hours after it has begun, two hours after its newest request."""
    with browser(own) as page:
        assert page.client.get(f"{API}/runs").status_code == 200
        stream = OpenStream(page)
        changed = {name: time.time() + value if value < 0 else value for name, value in values.items()}
        with own.context.database.writing() as connection:
            connection.execute(update(SESSION).values(**changed))
        assert stream.done.wait(3)
        assert page.client.get(f"{API}/runs").status_code == 401


def test_a_session_outlives_a_restart_of_the_server(tmp_path: Path) -> None:
    """The record is in the database."""
    with serving(tmp_path) as first:
        page = Browser(first)
        assert page.login(token=first.tokens[Role.READ]).status_code == 201
        port, csrf = first.context.settings.port, page.csrf
    settings = replace(CALM, port=port)
    with closing(page.client), serving_again(tmp_path, settings) as second:
        assert second.context.settings.port == port
        assert page.client.get(f"{API}/whoami").json()["csrf"] == csrf


@contextmanager
def serving_again(folder: Path, settings: Any) -> Iterator[Served]:
    """A server over a home whose tokens exist already."""
    import seatunnel_py.control.store.tokens as module

    issued = module.issue
    try:
        module.issue = lambda connection, wish, by, at: issued(  # type: ignore[assignment] - tokens of other names
            connection, TokenWish(f"{wish.name}-again", wish.role), by, at
        )
        with serving(folder, settings) as served:
            module.issue = issued
            yield served
    finally:
        module.issue = issued


def test_tries_to_log_in_are_limited_and_audited(tmp_path: Path) -> None:
    """Ten a minute of an address; a right token does not help any more."""
    with serving(tmp_path, replace(CALM, logins_per_minute=10)) as served, served.client(None) as client:
        codes = [client.post(f"{API}/session", json={"token": "stp_wrong"}).status_code for _ in range(10)]
        over = client.post(f"{API}/session", json={"token": served.tokens[Role.READ]})
        rows = served.get("audit", Role.ADMIN, act="session.begin").json()["audit"]

    assert codes == [401] * 10
    assert over.status_code == 429 and 1 <= int(over.headers["retry-after"]) <= 6
    assert [(row["actor"], row["address"], row["result"][:8]) for row in rows] == [
        ("anonymous", "127.0.0.1", "refused:")
    ] * 10


def test_t13_no_text_that_opens_the_server_is_stored_or_shown(own: Served) -> None:
    """Cookie and code are kept as digests, and are in no audit row."""
    code = code_of(own)
    page = Browser(own)
    with closing(page.client):
        assert page.login(code=code).status_code == 201
        cookie = page.cookie
        for path in ("runs", "whoami"):
            for name in ("session", f"seatunnel-session-{own.context.settings.port}"):
                with own.client(None) as client:
                    assert client.get(f"{API}/{path}", params={name: cookie}).status_code == 401
        seen = own.get("audit", Role.ADMIN).text + page.client.get(f"{API}/whoami").text
    stored = b"".join(path.read_bytes() for path in own.home.path.rglob("*") if path.is_file())
    for text in (cookie, code, page.csrf):
        assert text.encode() not in stored
    assert cookie not in seen and code not in seen


def test_sessions_of_a_token_are_bounded(own: Served) -> None:
    """The newest hundred stay."""
    with own.context.database.writing() as connection:
        (token,) = (one for one in tokens.listing(connection) if one.name == "read")
        begun = [sessions.begin(connection, token, "", time.time() + at)[1] for at in range(103)]
    with own.context.database.reading() as connection:
        valid = [sessions.verified(connection, text, time.time() + 103) is not None for text in begun]
    assert valid == [False] * 3 + [True] * 100
