"""The author's guide quotes the example plugin: what it shows is what the tests run."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def blocks(page: str, language: str) -> list[str]:
    text = (ROOT / "docs" / page).read_text()
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)


def test_every_python_block_of_the_guide_stands_in_the_example_plugin() -> None:
    """Or among its tests. A guide whose code is not run is wrong soon."""
    folder = ROOT / "tests" / "plugin_example"
    example = "\n\n".join(path.read_text() for path in sorted(folder.glob("*.py")))

    found = blocks("authors.md", "python")

    assert len(found) >= 6
    assert [block for block in found if block not in example] == []


def test_the_entry_points_of_the_guide_are_those_of_the_example_plugin() -> None:
    """They are what makes a distribution a plugin."""
    (block,) = blocks("authors.md", "toml")

    assert block in (ROOT / "tests" / "plugin_example" / "pyproject.toml").read_text()
