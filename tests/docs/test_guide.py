"""Every job file in the documentation is valid, and the configurations that ship with the project are too."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from seatunnel_py import app

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", *sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")))
JOBS = sorted((ROOT / "configs").rglob("*.conf"))


def documented() -> list[tuple[str, str]]:
    return [
        (f"{page} #{number}", block)
        for page in PAGES
        for number, block in enumerate(re.findall(r"```hocon\n(.*?)```", (ROOT / page).read_text(), flags=re.DOTALL))
        if "--8<--" not in block  # a file of configs/
        if not block.startswith(("notify ", "egress ", "store "))  # settings of the server, which another test reads
    ]


@pytest.mark.parametrize(("name", "text"), documented(), ids=lambda value: value if "#" in value else "")
def test_every_job_in_the_documentation_is_valid(
    name: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader copies it, and it works."""
    monkeypatch.setenv("SHOP_PASSWORD", "secret")
    (tmp_path / "job.conf").write_text(text)

    app.check(tmp_path / "job.conf")


@pytest.mark.parametrize("path", JOBS, ids=lambda path: path.name)
def test_every_shipped_configuration_is_valid(path: Path) -> None:
    """configs/ is what people start from."""
    app.check(path, {"dir": "demo"})
