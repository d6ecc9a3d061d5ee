"""Analyses queries with Catalyst, over empty views of their inputs: no row is read and no job is started."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from seatunnel_py.api.schema import Column, TableSchema
from seatunnel_py.api.transform import ColumnLineage, ColumnUse
from seatunnel_py.plan.sql.analysis import Analysis
from seatunnel_py.spark.query.types import ROW, ROW_DDL, column_type

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from seatunnel_py.spark.query.plan_facts import PlanFacts
    from seatunnel_py.spark.query.query_lineage import QueryLineage


class Analyst:
    """Implements ``plan.sql.SqlAnalyst``. Tables of equal columns share an analysis, so that a query over a thousand
    tables of one shape is analysed once."""

    def __init__(self, session: SparkSession) -> None:
        from seatunnel_py.spark.query.session import query_session

        self._session = query_session(session)
        self._known: dict[tuple[Any, ...], Analysis] = {}
        self._views: dict[str, tuple[Any, ...]] = {}

    def analyse(self, query: str, inputs: Mapping[str, TableSchema], dialect: str) -> Analysis:
        """See ``SqlAnalyst``. Raises ValueError."""
        key = (query, dialect, tuple((name, table.columns) for name, table in inputs.items()))
        if key not in self._known:
            self._known[key] = self._analyse(query, inputs, dialect)
        return self._known[key]

    def rows(self, query: str, inputs: Mapping[str, pa.Table]) -> pa.Table:
        """See ``SqlAnalyst``. Raises ValueError for a row value that makes the query impossible."""
        from pyspark.errors import PySparkException

        from seatunnel_py.spark.plugins.arrow_wire import wire_schema
        from seatunnel_py.spark.query.errors import first_sentence
        from seatunnel_py.spark.query.session import put_view, query_frame

        for name, table in inputs.items():
            frame = self._session.createDataFrame(table.cast(wire_schema(table.schema)))
            put_view(name, frame._jdf)
            self._views[name] = ()  # it is not the empty view that an analysis needs
        try:
            return query_frame(self._session, query).toArrow()
        except PySparkException as error:
            raise ValueError(first_sentence(error)) from None

    def _analyse(self, query: str, inputs: Mapping[str, TableSchema], dialect: str) -> Analysis:
        from pyspark.errors import PySparkException

        from seatunnel_py.spark.dialect.translate import translate
        from seatunnel_py.spark.query.errors import readable

        alone = len(inputs) == 1
        self._show(inputs, *([ROW_DDL] if alone else []))
        text = translate(query, inputs, dialect, self._type_of)
        if alone and (narrow := self._narrow(text, inputs)) is not None:
            return narrow
        self._show(inputs)
        try:
            facts, fields = self._plan(text)
        except PySparkException as error:
            columns = [column.name for table in inputs.values() for column in table.columns]
            raise readable(error, query, dialect, columns, self._functions) from None
        found = _columns(fields, inputs, facts.passed)
        return Analysis(text, found, False, facts.determinism, facts.why, _lineage(found, facts.lineage))

    def _narrow(self, text: str, inputs: Mapping[str, TableSchema]) -> Analysis | None:
        """The analysis of a query that passes rows one by one, proved by a hidden column that comes out again."""
        from pyspark.errors import PySparkException

        from seatunnel_py.spark.query.row_origin import with_row

        try:
            facts, fields = self._plan(with_row(text))
        except (PySparkException, ValueError):
            return None
        places = [position for position, field in enumerate(fields) if field["name"] == ROW]
        if not facts.narrow or len(places) != 1:
            return None
        (place,) = places
        passed = {at - (at > place): source for at, source in facts.passed.items() if at != place}
        columns = _columns([*fields[:place], *fields[place + 1 :]], inputs, passed)
        return Analysis(text, columns, True, facts.determinism, facts.why, _lineage(columns, facts.lineage, place))

    def _show(self, inputs: Mapping[str, TableSchema], *extra: str) -> None:
        """Show the session these inputs and no others. An input that it already sees is left unchanged."""
        from seatunnel_py.spark.query.session import drop_view, empty_frame, put_view

        for name in self._views.keys() - inputs.keys():
            drop_view(self._session, name)
            del self._views[name]
        for name, table in inputs.items():
            shape = (table.columns, extra)
            if self._views.get(name) != shape:
                put_view(name, empty_frame(self._session, table, *extra))
                self._views[name] = shape

    def _plan(self, text: str) -> tuple[PlanFacts, list[dict[str, Any]]]:
        from seatunnel_py.spark.query.plan_facts import facts
        from seatunnel_py.spark.query.plan_tree import plan_tree
        from seatunnel_py.spark.query.session import query_frame

        frame = query_frame(self._session, text)._jdf
        found = facts(plan_tree(frame.queryExecution().analyzed().toJSON()))
        return found, json.loads(frame.schema().json())["fields"]

    def _type_of(self, select: str) -> str | None:
        """Spark's name for the type of a one-column query; None if it cannot be analysed by itself."""
        from pyspark.errors import PySparkException

        from seatunnel_py.spark.query.session import query_frame

        try:
            return str(query_frame(self._session, select)._jdf.schema().apply(0).dataType().simpleString())
        except PySparkException:
            return None

    def _functions(self) -> list[str]:
        from seatunnel_py.spark.dialect.functions import FUNCTIONS

        found = [row[0] for row in self._session.sql("SHOW FUNCTIONS").collect()]
        return sorted({*found, *(name.lower() for name in FUNCTIONS)})


def _columns(
    fields: list[dict[str, Any]], inputs: Mapping[str, TableSchema], passed: Mapping[int, tuple[str, str]]
) -> tuple[Column, ...]:
    """The result's columns. A column taken from an input keeps its known length, comment and native type."""
    names = Counter(field["name"] for field in fields)
    twice = [name for name, count in names.items() if count > 1]
    if twice:
        raise ValueError(f"{names[twice[0]]} columns of the result are called {twice[0]!r}; give them aliases")
    columns = []
    for position, field in enumerate(fields):
        source = _source(inputs, passed.get(position))
        if source is not None:
            columns.append(replace(source, name=field["name"], nullable=field["nullable"]))
            continue
        try:
            columns.append(Column(field["name"], column_type(field["type"]), nullable=field["nullable"]))
        except ValueError as error:
            raise ValueError(f"column {field['name']!r}: {error}") from None
    return tuple(columns)


def _source(inputs: Mapping[str, TableSchema], passed: tuple[str, str] | None) -> Column | None:
    if passed is None:
        return None
    view, column = passed
    table = next((table for name, table in inputs.items() if name.lower() == view.lower()), None)
    return table.column(column) if table else None


def _lineage(columns: tuple[Column, ...], found: QueryLineage | None, hidden: int = -1) -> ColumnLineage | None:
    """The lineage by the names of the columns, without the column at ``hidden`` and its own uses."""
    if found is None:
        return None
    shown = [uses for at, uses in enumerate(found.columns) if at != hidden]
    by_name = {column.name: _shown(uses) for column, uses in zip(columns, shown, strict=True)}
    return ColumnLineage(by_name, _shown(found.rows))


def _shown(uses: Iterable[ColumnUse]) -> tuple[ColumnUse, ...]:
    return tuple(sorted((one for one in uses if one.column != ROW), key=str))
