"""Places that values go to and return from: another database, files of every format."""

from __future__ import annotations

import json
import shutil
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from tests.round_trips.databases import Database

SCHEMALESS = ("parquet", "orc")
"""Formats whose files say their own types."""


class Place(ABC):
    """``is_home``: the source's own database, where one job suffices; ``with_targets``: into tables that are there."""

    name: str = ""
    is_home = False
    with_targets = False

    @abstractmethod
    def reset(self) -> None: ...

    @abstractmethod
    def sink(self) -> str: ...

    @abstractmethod
    def source(self, types: Mapping[str, str]) -> str:
        """The source of the job that goes back; ``types`` are those of each table's value column."""


@dataclass
class Home(Place):
    """The same database: into new tables, or into ones of the source's own types."""

    database: Database
    with_targets: bool = False
    is_home = True

    def __post_init__(self) -> None:
        self.name = "itself, tables that are there" if self.with_targets else "itself"

    def reset(self) -> None:
        return

    def sink(self) -> str:
        return self.database.sink()

    def source(self, types: Mapping[str, str]) -> str:
        raise AssertionError("rows that stay at home do not come back")


@dataclass
class Files(Place):
    """LocalFile in one format, a folder for each table."""

    format: str
    options: str
    folder: Path

    def __post_init__(self) -> None:
        self.name = self.format + (f" ({self.options})" if self.options else "")

    def reset(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def sink(self) -> str:
        return (
            f'LocalFile {{ path = "{self.folder}/${{table_name}}", file_format_type = {self.format} '
            f"{', ' + self.options if self.options else ''} }}"
        )

    def source(self, types: Mapping[str, str]) -> str:
        configs = []
        for table, dtype in types.items():
            config: dict[str, object] = {"path": f"{self.folder}/{table}", "file_format_type": self.format}
            if self.format not in SCHEMALESS:
                config["schema"] = {"table": table, "fields": {"id": "int", "v": dtype}}
            else:
                config["schema"] = {"table": table}
            configs.append(json.dumps(config)[1:-1])
        listed = ", ".join("{" + one + (f", {self.options}" if self.options else "") + "}" for one in configs)
        return f"LocalFile {{ tables_configs = [{listed}] }}"


@dataclass
class Other(Place):
    """Another database: what the sink makes of the tables there is read again."""

    database: Database

    def __post_init__(self) -> None:
        self.name = type(self.database).__name__.lower()

    def reset(self) -> None:
        self.database.reset()

    def sink(self) -> str:
        return self.database.sink()

    def source(self, types: Mapping[str, str]) -> str:
        return self.database.source_of_returned(list(types))


@dataclass
class Topics(Place):
    """Kafka in one format, a topic for each table and round."""

    format: str
    broker: str
    rounds: int = 0

    def __post_init__(self) -> None:
        self.name = f"kafka {self.format}"

    def reset(self) -> None:
        self.rounds = next(_ROUNDS)

    def connection(self) -> str:
        return f'bootstrap.servers = "{self.broker}"'

    def sink(self) -> str:
        topic = f"round{self.rounds}.${{table_name}}"
        return f'Kafka {{ {self.connection()}, topic = "{topic}", format = {self.format}, semantics = EXACTLY_ONCE }}'

    def source(self, types: Mapping[str, str]) -> str:
        configs = [{**self.config(table, dtype), "format": self.format} for table, dtype in types.items()]
        return f"Kafka {{ {self.connection()}, tables_configs = {json.dumps(configs)} }}"

    def config(self, table: str, dtype: str) -> dict[str, object]:
        """One table of a source, without its format."""
        schema = {"table": table, "fields": {"id": "bigint", "v": dtype}}
        return {"topic": f"round{self.rounds}.{table}", "start_mode": "earliest", "schema": schema}


_ROUNDS = count(1)
