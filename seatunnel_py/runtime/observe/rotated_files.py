"""Names of files that are rotated: ``events.jsonl`` is written to, ``events-000007.jsonl`` is an older generation."""

from __future__ import annotations

import re
from pathlib import Path


def older_generations(path: Path) -> list[Path]:
    """The older generations of a file that exist, oldest first."""
    pattern = re.compile(rf"{re.escape(path.stem)}-(\d+){re.escape(path.suffix)}")
    found = {int(match[1]): one for one in path.parent.glob(f"{path.stem}-*") if (match := pattern.fullmatch(one.name))}
    return [found[number] for number in sorted(found)]


def generations(path: Path) -> list[Path]:
    """All generations, oldest first; the last one is written to, and may not exist yet."""
    return [*older_generations(path), path]


def next_generation(path: Path) -> Path:
    """The name for the current file when it is rotated."""
    older = older_generations(path)
    number = int(older[-1].stem.rpartition("-")[2]) + 1 if older else 1
    return path.with_name(f"{path.stem}-{number:06}{path.suffix}")
