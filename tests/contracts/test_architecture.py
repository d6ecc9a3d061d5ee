"""docs/architecture.md names a file for each term of the model, and the files are there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TERMS = """job; step; pipeline; vertex; subtask; split; unit; result; piece; pack; channel; batch; barrier;
checkpoint, savepoint; region; commit scope; ledger"""


def rows() -> dict[str, str]:
    text = (ROOT / "docs" / "architecture.md").read_text()
    table = text.partition("## Terms and their files")[2].partition("\n## ")[0]
    return dict(re.findall(r"^\| ([^|`]+?) \| (`[^|]+?) \|", table, flags=re.MULTILINE))


def test_every_term_of_the_model_has_a_row_with_its_file() -> None:
    """One meaning a word, one place a meaning."""
    wanted = {term.strip() for term in TERMS.split(";")}

    assert wanted <= set(rows())


def test_every_named_file_is_there() -> None:
    """A map that names a file which has moved is worse than none."""
    text = (ROOT / "docs" / "architecture.md").read_text()
    named = {name for name in re.findall(r"`([\w./]+\.(?:py|toml))`", text) if "/" in name}
    missing = [name for name in named if not (ROOT / name).exists() and not (ROOT / "seatunnel_py" / name).exists()]

    assert missing == []
