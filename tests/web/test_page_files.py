"""The files of the web page: relative, compared or kept, packed, and nothing but what was built."""

from __future__ import annotations

import gzip
import os
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from seatunnel_py.web.reading.page_files import PageFiles
from seatunnel_py.web.request_frame import CONTENT_POLICY
from tests.web.running import Served, serving

START = '<link href="./assets/a-1.css"><script type="module" src="./assets/a-1.js"></script>'
SCRIPT = "console.log('page');" * 200


@pytest.fixture
def built(served: Served, tmp_path: Path) -> Iterator[Path]:
    """A page in the place of the built one, so that this needs no Node."""
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text(START)
    (tmp_path / "assets/a-1.js").write_text(SCRIPT)
    (tmp_path / "assets/a-1.css").write_text("b{}")
    (tmp_path / "secret.txt").write_text("not an asset")
    page = served.context.page
    before = page.folder
    page.folder, page._built = tmp_path, 0
    yield tmp_path
    page.folder, page._built = before, 0


def test_each_address_of_the_page_finds_the_same_assets(served: Served, built: Path) -> None:
    """Relative to the address, so that a proxy may serve it below a path of its own."""
    for path, above in (
        ("/", "./"),
        ("/jobs", "./"),
        ("/jobs/one", "../"),
        ("/edit/one", "../"),
        ("/jobs/one/tables", "../../"),
    ):
        answer = served.get(path, None)
        assert answer.text == START.replace("./assets", f"{above}assets"), path
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert answer.headers["content-security-policy"] == CONTENT_POLICY
        script = httpx.URL(f"{served.url}{path}").join(f"{above}assets/a-1.js")
        assert httpx.get(script, trust_env=False).text == SCRIPT


def test_assets_are_kept_and_the_start_page_is_compared(served: Served, built: Path) -> None:
    """By a name with a hash, and by a tag."""
    asset = served.get("/assets/a-1.js", None)
    assert asset.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert asset.headers["content-type"] == "text/javascript; charset=utf-8"
    start = served.get("/", None)
    assert start.headers["cache-control"] == "no-cache"
    with served.client(None) as client:
        again = client.get("/", headers={"If-None-Match": start.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        assert client.get("/jobs/x", headers={"If-None-Match": start.headers["etag"]}).status_code == 200
        unknown = client.get("/jobs/x/nothing")
        again = client.get("/jobs/x/nothing", headers={"If-None-Match": unknown.headers["etag"]})
        assert (again.status_code, again.text) == (404, unknown.text) and again.text.startswith("<")


def test_assets_are_packed_for_those_that_take_it(served: Served, built: Path) -> None:
    """And whole for others."""
    with served.client(None) as client:
        with client.stream("GET", "/assets/a-1.js", headers={"Accept-Encoding": "gzip"}) as answer:
            packed = b"".join(answer.iter_raw())
            assert answer.headers["content-encoding"] == "gzip" and answer.headers["vary"] == "Accept-Encoding"
        plain = client.get("/assets/a-1.js", headers={"Accept-Encoding": "identity"})
    assert gzip.decompress(packed).decode() == plain.text == SCRIPT and len(packed) < 200
    assert "content-encoding" not in plain.headers


@pytest.mark.parametrize(
    "name", ["secret.txt", "..%2findex.html", "..%2f..%2fpage.py", "a-1.js%00", "A-1.js", "%2e%2e"]
)
def test_t5_only_assets_are_served(served: Served, built: Path, name: str) -> None:
    """A name is looked up, and never joined to a path."""
    assert served.get(f"/assets/{name}", None).status_code == 404


def test_a_page_that_is_not_built_names_the_remedy(served: Served, built: Path) -> None:
    """In a sentence, and the interface answers as before."""
    (built / "index.html").unlink()
    answer = served.get("/", None)
    assert answer.status_code == 503 and "make page" in answer.text
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert served.get("runs").status_code == 200


def test_another_build_is_found_without_a_restart(tmp_path: Path) -> None:
    """By the time of its start page, which is written last."""
    (tmp_path / "assets").mkdir()
    start = tmp_path / "index.html"
    start.write_text(START)
    (tmp_path / "assets/a-1.js").write_text("1")
    page = PageFiles(tmp_path)
    assert page.start(0) is not None and page.asset("a-1.js") is not None and page.asset("b-2.js") is None
    (tmp_path / "assets/b-2.js").write_text("2")
    start.write_text(START.replace("a-1", "b-2"))
    os.utime(start, ns=(1, 1))
    asset, first = page.asset("b-2.js"), page.start(1)
    assert asset is not None and asset.data == b"2"
    assert first is not None and b'"../assets/b-2.js"' in first.data


def test_a_start_is_shown_also_where_its_driver_left_no_directory(tmp_path: Path) -> None:
    """With its exit code and the end of its output; a run of the command line has no start."""
    text = (
        'source { FakeSource { schema { fields { id = bigint } } } }\nsink { Console { log.print.data = "${GONE}" } }'
    )
    with serving(tmp_path) as served:
        assert served.send("POST", "definitions", {"id": "wrong", "text": text}).status_code == 201
        run = served.send("POST", "definitions/wrong/runs").json()["job_id"]
        until = time.monotonic() + 60
        while (start := served.get(f"runs/{run}/start").json())["state"] != "ENDED":
            assert time.monotonic() < until, start
            time.sleep(0.1)
        assert (start["definition"], start["exit_code"], start["signal"]) == ("wrong", 2, None)
        assert any("GONE" in line for line in start["output"])
        assert served.get(f"runs/{run}").status_code == 404
        assert served.get("runs/by-hand/start").status_code == 404
