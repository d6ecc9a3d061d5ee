"""Creates the session for queries, with its own settings, so that no setting of the job changes the meaning of a
query."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from seatunnel_py.api.schema import TableSchema
from seatunnel_py.plan.sql.query_types import queried
from seatunnel_py.spark.dialect.des import register
from seatunnel_py.spark.query.types import quoted, spark_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SESSION_SETTINGS: Mapping[str, str] = {
    # A timestamp without a zone must mean the same on every machine.
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    "spark.sql.timeType.enabled": "true",
    # A bad cast, an overflow or a division by zero is an error, as in SeaTunnel, and not a silent null.
    "spark.sql.ansi.enabled": "true",
    "spark.sql.caseSensitive": "false",
    # Variables of the job file are already replaced: Spark would make empty text of one that has no value.
    "spark.sql.variable.substitute": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    "spark.sql.pyspark.jvmStacktrace.enabled": "false",
}


def query_session(session: SparkSession) -> SparkSession:
    """A session of the same application with its own settings and its own views."""
    own = session.newSession()
    for key, value in SESSION_SETTINGS.items():
        own.conf.set(key, value)
    # Errors are reported once, as messages; pyspark would also print each of them with its stack.
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL + 1)
    logging.getLogger("DataFrameQueryContextLogger").setLevel(logging.CRITICAL + 1)
    return own


def query_frame(session: SparkSession, query: str) -> DataFrame:
    """The answer of a query in Spark's dialect; functions that run in Python are registered first."""
    register(session, query)
    return session.sql(query)


def put_view(name: str, frame: Any) -> None:
    """Register the frame as a view, for a name of any characters. ``frame`` is the JVM's."""
    frame.createOrReplaceTempView(quoted(name))


def drop_view(session: SparkSession, name: str) -> None:
    """Drop the view of that name."""
    java: Any = session._jsparkSession
    java.catalog().dropTempView(name)


def empty_frame(session: SparkSession, table: TableSchema, *extra: str) -> Any:
    """A JVM data frame without rows that has the table's columns and ``extra`` ones, given as DDL."""
    java: Any = session._jsparkSession
    jvm: Any = session._jvm
    schema = jvm.org.apache.spark.sql.types.StructType.fromDDL(ddl(table, *extra))
    return java.createDataFrame(jvm.java.util.ArrayList(), schema)


def ddl(table: TableSchema, *extra: str) -> str:
    """The table's columns as Spark's DDL."""
    columns = [
        f"{quoted(column.name)} {spark_type(column.dtype)}{'' if column.nullable else ' NOT NULL'}"
        for column in table.columns
    ]
    return ", ".join([*columns, *extra])


def wire_ddl(table: TableSchema, *extra: str) -> str:
    """The table's columns as Spark's DDL, all of them nullable: columns declared by a Python stage are not checked."""
    columns = queried(table).columns
    return ", ".join([*(f"{quoted(column.name)} {spark_type(column.dtype)}" for column in columns), *extra])
