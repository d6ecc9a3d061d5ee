"""Files of lines that are rotated: ``events.jsonl`` is written to, ``events-000007.jsonl`` is an older generation."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any


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


def json_lines(paths: Iterable[Path], *, without: str = "", last_bytes: int | None = None) -> Iterator[dict[str, Any]]:
    """The JSON objects in these files, one for each line. A line that cannot be read is skipped: a driver may be
    writing it. ``without``: lines with this text are not parsed; ``last_bytes``: only the end of each file."""
    for path in paths:
        try:
            file = path.open("rb")
        except FileNotFoundError:
            continue
        with file:
            if last_bytes is not None:
                file.seek(max(0, path.stat().st_size - last_bytes))
            for data in file:
                text = data.decode(errors="replace")
                if without and without in text:
                    continue
                try:
                    line = json.loads(text)
                except (ValueError, RecursionError):
                    continue
                if isinstance(line, dict):
                    yield line
