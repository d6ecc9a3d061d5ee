"""Defines SQL for the planner: the kind of step, and the port through which a query is analysed.

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
from seatunnel_py.api.options.step import TransformOptions

if TYPE_CHECKING:
    import pyarrow as pa

    from seatunnel_py.api.schema import Column, TableSchema
    from seatunnel_py.api.transform import ColumnLineage


class CatalystFactory(Factory):
    """A transform that is a query. Registered like any other transform."""

    options: ClassVar[type[TransformOptions]]

    @abstractmethod
    def query(self, options: Any) -> str:
        """The SELECT as written in the job file."""


class SparkFactory(Factory):
    """A step that Spark itself reads or writes: the objects that it creates may use the running application."""


@dataclass(frozen=True, slots=True)
class Analysis:
    """Result of an analysis: the query's columns, Spark's text for it, whether it is narrow, how repeatable it is, and
    its lineage; None: that is unknown."""

    query: str
    columns: tuple[Column, ...]
    narrow: bool
    determinism: Determinism
    why_not_determinate: str = ""
    lineage: ColumnLineage | None = None


class SqlAnalyst(Protocol):
    """The planner's and the preview's interface to Catalyst."""

    def analyse(self, query: str, inputs: Mapping[str, TableSchema], dialect: str) -> Analysis:
        """Analyse a query over named inputs without reading a row. Raises ValueError with a text for the user."""

    def rows(self, query: str, inputs: Mapping[str, pa.Table]) -> pa.Table:
        """Run an analysed query (``Analysis.query``) over a few rows, for a preview."""
