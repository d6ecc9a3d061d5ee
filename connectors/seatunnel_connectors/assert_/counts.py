"""Stores the row counts of earlier commits per table beside the job, because the driver may die between two commits.

Each commit stores the sums up to itself under its own number, so a repeated commit gives the same result. The location
is removed with the job's other staged files.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

from seatunnel_py.api import CommitContext, RetriableError, private_directory, private_output

KEPT = 8  # a new driver repeats the last commits, and needs the sums before them


class RowCounts:
    """The sums of one step. Without a staging location each commit counts alone."""

    def __init__(self, context: CommitContext) -> None:
        from pyarrow import fs

        self._files: Any = None
        if context.staging:
            place = f"{context.staging}/{context.lineage or 'none'}/assert-{context.step.encode().hex()}"
            self._files, self._path = fs.FileSystem.from_uri(place)
            private_directory(self._files, self._path)

    def before(self, checkpoint: int) -> Counter[str]:
        """The sums up to the newest commit before this one."""
        earlier = [number for number in self._numbers() if number < checkpoint]
        if not earlier:
            return Counter()
        name = f"{self._path}/{max(earlier)}"
        try:
            with self._files.open_input_stream(name) as file:
                return Counter(json.loads(file.read()))
        except OSError as error:
            raise RetriableError(f"Assert: the rows counted so far cannot be read: {name}: {error}") from error

    def keep(self, checkpoint: int, rows: Mapping[str, int]) -> None:
        """The sums up to this commit."""
        if self._files is None:
            return
        name = f"{self._path}/{checkpoint}"
        try:
            with private_output(self._files, f"{name}.new") as file:
                file.write(json.dumps(rows).encode())
            self._files.move(f"{name}.new", name)
            for number in sorted(self._numbers())[:-KEPT]:
                self._files.delete_file(f"{self._path}/{number}")
        except OSError as error:
            raise RetriableError(
                f"Assert: the rows counted so far cannot be kept: {name}: {error}", "make room or give access"
            ) from error

    def _numbers(self) -> list[int]:
        from pyarrow import fs

        if self._files is None:
            return []
        found = self._files.get_file_info(fs.FileSelector(self._path))
        return [int(one.base_name) for one in found if one.base_name.isdigit()]
