"""Implements the ``Sql`` transform: a SELECT over the rows of one input, or of several."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, ClassVar

from seatunnel_py.api.options import TransformOptions, option
from seatunnel_py.plan.sql.analysis import CatalystFactory


class SqlEngine(StrEnum):
    """The engines that SeaTunnel knows. Spark alone runs queries here, so all names are accepted."""

    ZETA = "ZETA"
    INTERNAL = "INTERNAL"


class SqlOptions(TransformOptions):
    """Options of ``Sql``."""

    query: str = option(min_length=1, doc="the SELECT; tables are called as in plugin_input, or anything if it is one")
    engine: SqlEngine = option(SqlEngine.ZETA, doc="accepted for older job files, without effect")


class SqlTransformFactory(CatalystFactory):
    name = "Sql"
    summary = "Select, compute, filter, join and aggregate with SQL"
    options: ClassVar[type[TransformOptions]] = SqlOptions

    def query(self, options: Any) -> str:
        return str(options.query)

    def extras(self, options: Any) -> tuple[str, ...]:
        queries = [options.query, *(str(rule.get("query")) for rule in options.table_transform)]
        return ("crypto",) if any("des_" in query.lower() for query in queries) else ()
