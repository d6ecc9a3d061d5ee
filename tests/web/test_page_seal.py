"""T19: a page that differs from what was built is refused before the server answers."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.runtime.storage.home import Home
from seatunnel_py.web import serving
from seatunnel_py.web.reading.page_seal import SEAL, require_unchanged
from tests.web.running import CALM

FILES = {"index.html": "<p>", "assets/a-1.js": "run()", "assets/a-1.css": "b{}"}


@pytest.fixture
def page(tmp_path: Path) -> Path:
    folder = tmp_path / "page"
    (folder / "assets").mkdir(parents=True)
    for name, text in FILES.items():
        (folder / name).write_text(text)
    sums = (f"{hashlib.sha256(text.encode()).hexdigest()}  {name}\n" for name, text in FILES.items())
    (folder / SEAL).write_text("".join(sums))
    return folder


def test_t19_a_page_as_it_was_built_is_taken(page: Path, tmp_path: Path) -> None:
    require_unchanged(page)
    require_unchanged(tmp_path / "not built")


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("change", ["edited", "removed"])
def test_t19_a_changed_file_is_named_and_nothing_is_served(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, change: str
) -> None:
    if change == "edited":
        (page / name).write_text(FILES[name] + " ")
    else:
        (page / name).unlink()
    monkeypatch.setattr(serving, "FOLDER", page)
    with pytest.raises(SeaTunnelError, match=name) as refused:
        serving.serve(Home(tmp_path / "home"), CALM, lambda _: pytest.fail("it answers"))
    assert "install this release again" in refused.value.remedy
    assert not (tmp_path / "home").exists()


def test_t19_an_added_file_and_a_missing_list_are_refused(page: Path) -> None:
    (page / "assets/b-2.js").write_text("steal()")
    with pytest.raises(SeaTunnelError, match=r"b-2\.js"):
        require_unchanged(page)
    (page / SEAL).unlink()
    with pytest.raises(SeaTunnelError, match="no list of checksums"):
        require_unchanged(page)
