"""Every route, with every role, without a token, and with one that is not valid any more (T1)."""

from __future__ import annotations

import time
from typing import Any

import pytest

from seatunnel_py.control.store import tokens
from seatunnel_py.control.store.audit import Act
from seatunnel_py.control.store.tokens import Role
from seatunnel_py.web.application import NEEDS
from seatunnel_py.web.route_table import ROUTES, STREAMS
from tests.web.running import Served

MATRIX = [(route, role) for route in ROUTES for role in Role]
GIVEN = {"run": "one", "key": "shop.events", "kind": "source", "name": "FakeSource", "part": "tables"}
NOTHING = "no-such-thing"


def path_of(path: str) -> str:
    """The route with ids of things that exist, so that only the role decides; writes name what does not exist."""
    for name in GIVEN:
        path = path.replace(f"{{{name}:path}}", GIVEN[name]).replace(f"{{{name}}}", GIVEN[name])
    return path if "{" not in path else path.partition("{")[0] + NOTHING + path.partition("}")[2]


def call(served: Served, method: str, path: str, role: Role | None) -> int:
    """The status of an answer; of a stream only its beginning is read."""
    write = {} if method == "GET" else {"json": {}}
    path = path_of(path) if method == "GET" else path_of(path.replace("{run}", NOTHING))
    with served.client(role) as client, client.stream(method, path, **write) as answer:
        return answer.status_code


@pytest.mark.parametrize(("route", "role"), MATRIX, ids=lambda one: getattr(one, "path", one))
def test_t1_a_role_opens_what_the_table_says(served: Served, route: Any, role: Role) -> None:
    """A16, U28: 403 where the role is not enough, and anything else where it is."""
    status = call(served, route.method, route.path, role)

    allowed = route.need.role is None or role.allows(route.need.role)
    assert (status == 403) is not allowed
    assert status not in (401, 500)


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_t1_without_a_token_only_probes_and_the_page_answer(served: Served, route: Any) -> None:
    """U26: Nothing is known to an anonymous caller; on this machine a probe is answered. The page, built or not, has no
    data; an asset of that name does not exist."""
    status = call(served, route.method, route.path, None)

    if route.path.endswith("/session") and route.method == "POST":
        assert status == 422
    elif route.need.public:
        assert status in ((404,) if route.path.startswith("/assets/") else (200, 503))
    else:
        assert status == (200 if route.need.role is None else 401)


def test_t1_only_the_page_and_the_login_are_public() -> None:
    """From other machines, too; so what is public must hold no data."""
    public = {route.path for route in ROUTES if route.need.public}

    pages = {"/", "/jobs", "/jobs/{run}", "/jobs/{run}/{part}", "/edit", "/edit/{id}", "/catalogue", "/discover"}
    assert public == {*pages, "/assets/{asset}", "/api/v1/session"}


def routes_of(application: Any) -> list[Any]:
    """Every route that the application has, of any kind."""
    return list(application._app.router.routes)


def test_t1_every_route_of_the_application_is_in_the_table(served: Served) -> None:
    """Those that a library adds by itself, too: a route without a role cannot be called."""
    found = {(method, route.path) for route in routes_of(served.server.config.app) for method in route.methods}

    assert found == set(NEEDS) == {(route.method, route.path) for route in ROUTES}
    assert len(NEEDS) == len(ROUTES)


def test_t1_the_description_names_the_same_routes(served: Served) -> None:
    """What is generated from it is complete."""
    described = served.get("openapi.json").json()["paths"]
    found = {(method.upper(), path) for path, methods in described.items() for method in methods}

    assert {(method, path.replace(":path}", "}")) for method, path in NEEDS} == found


def test_t1_writes_need_more_than_read() -> None:
    """U26: Roles stand in the table; this is the rule that the table follows: everybody may log in, and out."""
    weak = [
        (route.method, route.path)
        for route in ROUTES
        if route.method != "GET" and route.need.role in (None, Role.READ) and route.path != "/api/v1/session"
    ]

    assert weak == [] and {"/api/v1/live"} == STREAMS


@pytest.mark.parametrize(
    "text",
    ["", "x", "stp_", f"stp_{'0' * 72}", "Basic abc", "\udcff".encode("utf-8", "surrogateescape").decode("latin-1")],
)
def test_t1_a_text_that_is_no_token_opens_nothing(served: Served, text: str) -> None:
    """Whatever its form."""
    with served.client(None) as client:
        answer = client.get("/api/v1/runs", headers={"Authorization": f"Bearer {text}".strip().encode("latin-1")})

    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, 'Bearer realm="seatunnel"')


def test_t1_an_expired_token_opens_nothing(served: Served) -> None:
    """Also while it is remembered."""
    _, text = served.issue(Role.ADMIN, seconds=0.5)
    headers = {"Authorization": f"Bearer {text}"}
    with served.client(None) as client:
        assert client.get("/api/v1/runs", headers=headers).status_code == 200
        time.sleep(0.6)
        assert client.get("/api/v1/runs", headers=headers).status_code == 401


def test_t1_a_revoked_token_ends_within_a_second(served: Served) -> None:
    """A server that remembers tokens forgets them in time."""
    token, text = served.issue(Role.READ)
    headers = {"Authorization": f"Bearer {text}"}
    with served.client(None) as client:
        assert client.get("/api/v1/runs", headers=headers).status_code == 200
        with served.context.database.acting(Act("test", "token.revoke")) as write:
            tokens.revoke(write.connection, token, time.time())
        time.sleep(1.0)
        assert client.get("/api/v1/runs", headers=headers).status_code == 401


def test_t13_a_token_in_an_address_opens_nothing(served: Served) -> None:
    """Addresses end in logs, histories and referrers."""
    text = served.tokens[Role.ADMIN]
    for name in ("token", "access_token", "authorization"):
        assert served.get("runs", None, **{name: text}).status_code == 401
    with served.client(None) as client:
        assert client.get("/api/v1/runs", headers={"Cookie": f"token={text}"}).status_code == 401


def test_t20_probes_name_nothing_to_anonymous_callers(served: Served) -> None:
    """Metrics need a token; health says ok, and no name."""
    assert served.get("/metrics", None).status_code == 401
    for path in ("/livez", "/readyz", "/healthz", "/version"):
        answer = served.get(path, None)
        assert answer.status_code == 200
        assert "shop" not in answer.text and str(served.home.path) not in answer.text
