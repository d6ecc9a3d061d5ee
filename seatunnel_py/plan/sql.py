"""What the planner knows of SQL: the kind of step, and a port to something that can analyse a query.

Catalyst runs these steps, not a worker. *Narrow* means one scan with projections and filters only: such a query
runs inside a chain, rows in, rows out. Anything wider is a vertex of its own between channels (design, section 4.7).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from seatunnel_py.api.capabilities import Determinism
from seatunnel_py.api.factory import Factory
from seatunnel_py.api.schema import Column, TableSchema
from seatunnel_py.api.step_options import TransformOptions

if TYPE_CHECKING:
    import pyarrow as pa


class CatalystFactory(Factory):
    """A transform that is a query. Registered like any other transform."""

    options: ClassVar[type[TransformOptions]]

    @abstractmethod
    def query(self, options: Any) -> str:
        """The SELECT as the job file writes it."""


class SparkFactory(Factory):
    """A step that Spark itself reads or writes: what it creates may ask for the running application."""


@dataclass(frozen=True, slots=True)
class Analysis:
    """What a query gives: its columns, Spark's text for it, whether it is narrow, and how repeatable it is."""

    query: str
    columns: tuple[Column, ...]
    narrow: bool
    determinism: Determinism
    why_not_determinate: str = ""


class SqlAnalyst(Protocol):
    """What the planner and the preview ask of Catalyst."""

    def analyse(self, query: str, inputs: Mapping[str, TableSchema], dialect: str) -> Analysis:
        """Analyse a query over named inputs without reading a row. Raises ValueError with a text for people."""

    def rows(self, query: str, inputs: Mapping[str, pa.Table]) -> pa.Table:
        """The answer of an analysed query (``Analysis.query``) over a few rows, for a preview."""
