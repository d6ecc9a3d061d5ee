"""The definitions: bounded jobs with schedules, and streams. Their rows have values (source, split, seq)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SPLIT_ROWS = 20
STREAM_SPLITS = 1_500
BATCH_SPLITS = 3
Row = tuple[str, int, int]
_TEXT = """
env {{ job.mode = {mode}, parallelism = 1, read_limit.rows_per_second = {rate}{more} }}
source {{ LocalFile {{ path = "{inputs}", file_format_type = csv,
          schema {{ table = "{name}", fields {{ source = string, split = int, seq = int }} }} }} }}
sink {{ LocalFile {{ path = "{target}", file_format_type = csv, data_save_mode = APPEND_DATA }} }}
"""


@dataclass(frozen=True, slots=True)
class KilledJob:
    """A definition. ``schedule``: its terms, empty: a stream that clients start and stop."""

    name: str
    folder: Path
    rate: int
    schedule: dict[str, Any] = field(default_factory=dict)

    @property
    def is_stream(self) -> bool:
        return not self.schedule

    @property
    def target(self) -> Path:
        return self.folder / "out" / self.name

    @property
    def overlaps(self) -> bool:
        return self.schedule.get("overlap") == "allow"

    @property
    def text(self) -> str:
        mode, more = ("STREAMING", ", checkpoint.interval = 1000") if self.is_stream else ("BATCH", "")
        return _TEXT.format(
            mode=mode, more=more, rate=self.rate, inputs=self._inputs, name=self.name, target=self.target
        )

    @property
    def _inputs(self) -> Path:
        return self.folder / "in" / self.name

    def rows(self) -> Iterator[Row]:
        """All rows of its source."""
        for split in range(STREAM_SPLITS if self.is_stream else BATCH_SPLITS):
            for seq in range(SPLIT_ROWS):
                yield self.name, split, seq

    def write_inputs(self) -> None:
        """A file for each split."""
        self._inputs.mkdir(parents=True)
        texts: dict[int, list[str]] = {}
        for source, split, seq in self.rows():
            texts.setdefault(split, []).append(f"{source},{split},{seq}\n")
        for split, lines in texts.items():
            (self._inputs / f"{split:05}.csv").write_text("".join(lines))

    def written(self, run: str = "") -> list[Row]:
        """The rows in its target; ``run``: of this run only."""
        files = self.target.glob(f"T_{run}_*" if run else "[!.]*")
        cells = (line.split(",") for file in files for line in file.read_text().splitlines())
        return [(one[0], int(one[1]), int(one[2])) for one in cells]


def twenty_jobs(folder: Path, *, streams: int = 8, batches: int = 12, often: float = 1.0) -> list[KilledJob]:
    """``often``: how often schedules start their jobs, in relation to the usual time."""
    terms: list[dict[str, Any]] = [
        {"every": 40, "overlap": "skip"},
        {"every": 45, "overlap": "queue", "missed": "once"},
        {"cron": "* * * * *", "zone": "Europe/Berlin", "overlap": "skip"},
        {"every": 70, "overlap": "allow"},
        {"every": 10, "overlap": "queue"},
        {"every": 12, "overlap": "skip", "missed": "once"},
    ]
    made = [KilledJob(f"stream-{number}", folder, 40) for number in range(streams)]
    for number in range(batches):
        chosen = dict(terms[number % len(terms)])
        slow = chosen.get("every", 60) < 20  # its times come while the run before is under way
        if "every" in chosen:
            chosen["every"] = max(10, round((chosen["every"] + (40 if slow and number >= len(terms) else 0)) / often))
        made.append(KilledJob(f"batch-{number}", folder, 3 if slow else 60, chosen))
    for one in made:
        one.write_inputs()
    return made
