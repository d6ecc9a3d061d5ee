"""Defines sources whose rows are a Spark DataFrame, for the engine, without importing pyspark."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from seatunnel_py.api.source import Reader, Source, SourceTable
from seatunnel_py.errors import EngineError, FatalError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PARTITION = "partition"
PARTITIONS = "partitions"
"""Keys in the payload of a split of a ``FrameSource``: the index of its partition, and the number of partitions."""


class FrameSource(Source):
    """One split is one partition; a unit is a Spark job over that partition alone (``query/unit.py``)."""

    @abstractmethod
    def frame(self, session: SparkSession) -> DataFrame:
        """The rows, with the columns of the only table in their order. Called for every unit, in any session."""

    def reader(self, table: SourceTable) -> Reader:
        raise FatalError(f"{table.schema.path} is read by Spark itself", "run the job without --local")


def active_session() -> SparkSession:
    """A session of the running application, with the settings of queries. Raises EngineError if there is none."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    from seatunnel_py.spark.query.session import query_session

    context = SparkContext._active_spark_context
    if context is None:
        raise EngineError("this step needs a running Spark", "run the job without --local")
    return query_session(SparkSession(context))
