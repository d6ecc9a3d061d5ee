"""LocalFile as a source and as a target."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow.parquet as pq

from e2e.crash_sweep.judge import Glance, Row, Seen
from e2e.crash_sweep.place import Place


@dataclass(frozen=True, slots=True)
class FilesSource:
    """A file for each split."""

    server = ""

    def prepare(self, place: Place, rows: Sequence[Row]) -> None:
        place.inputs.mkdir()
        texts: defaultdict[int, list[str]] = defaultdict(list)
        for number, (source, split, seq) in enumerate(rows):
            texts[split].append(f"{number},{source},{split},{seq}\n")
        for split, lines in texts.items():
            (place.inputs / f"{split}.csv").write_text("".join(lines))

    def text(self, place: Place) -> str:
        return f"""LocalFile {{ plugin_output = read, path = "{place.inputs}", file_format_type = csv,
            schema {{ table = big, fields {{ id = bigint, source = string, split = int, seq = int }} }} }}"""


@dataclass(frozen=True, slots=True)
class FilesOut:
    """``single``: one file, put together at the end."""

    format: str
    single: bool = False
    recipe = "files"
    server = ""
    ordered = True

    @property
    def seen(self) -> Seen:
        return Seen.ALL if self.single else Seen.GROWING

    def prepare(self, place: Place) -> None:
        """The directory is made by the job."""

    def text(self, place: Place) -> str:
        single = ', single_file_mode = true, file_name_expression = "all"' if self.single else ""
        return f"""LocalFile {{ plugin_input = {place.read}, path = "{place.files}", file_format_type = {self.format}{single} }}"""

    def rows(self, place: Place) -> Sequence[Row]:
        """In the order of each file, files in the order of their first rows: their names say nothing about time."""
        found = [rows for path in place.files.glob("[!.]*") if (rows := self._rows(path.read_bytes()))]
        return [row for rows in sorted(found) for row in rows]

    def _rows(self, data: bytes) -> list[Row]:
        if self.format == "parquet":
            import pyarrow as pa

            table = pq.read_table(pa.BufferReader(data), columns=["source", "split", "seq"])
            return list(zip(*(column.to_pylist() for column in table.columns), strict=True))
        if self.format == "json":
            loaded = (json.loads(line) for line in data.splitlines())
            return [(one["source"], one["split"], one["seq"]) for one in loaded]
        cells = (line.split(",") for line in data.decode().splitlines())
        return [(one[1], int(one[2]), int(one[3])) for one in cells]

    def glance(self, place: Place) -> Glance:
        return Glance.at(self.rows(place))

    def left_behind(self, place: Place) -> Sequence[str]:
        hidden = [path for path in place.files.rglob(".*") if not path.name.startswith(".seatunnel")]
        parts = list(place.files.rglob("*.part"))
        staged = [
            path for path in (place.files / ".seatunnel").rglob("*") if path.is_file() and "composed" not in path.name
        ]
        return [str(path.relative_to(place.files)) for path in {*hidden, *parts, *staged}]
