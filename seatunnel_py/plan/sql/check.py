"""Checks a query without a JVM: whether it parses as one SELECT, and whether its tables are inputs.

Checks Spark's own dialect only as far as this parser understands it: Catalyst decides the rest.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from seatunnel_py.errors import Problem
from seatunnel_py.plan.sql.analysis import CatalystFactory

if TYPE_CHECKING:
    from sqlglot import exp

    from seatunnel_py.plan.sql.parse import SqlError
    from seatunnel_py.plan.steps import Step

OPTION = "query"


def query_problems(step: Step, dialect: str) -> tuple[Problem, ...]:
    """Everything wrong with the query of an Sql step."""
    from seatunnel_py.plan.sql.parse import PEER, SPARK, SqlError, parse_query, spark_oddity

    query = _query(step)
    try:
        tree = parse_query(query, dialect)
    except SqlError as error:
        if dialect == SPARK and error.syntax:
            oddity = spark_oddity(query)
            return (_problem(step, query, oddity),) if oddity else ()
        remedy = 'sql.dialect = "spark" in env takes Spark\'s own SQL' if dialect == PEER and error.syntax else ""
        return (_problem(step, query, error, remedy),)
    return tuple(_unknown_tables(step, query, tree))


def query_notes(step: Step, dialect: str) -> tuple[Problem, ...]:
    """Report unusual names that work: the only input is called by another name than its own."""
    from seatunnel_py.plan.sql.parse import ANY_TABLE, SqlError, input_tables, parse_query, table_name

    names = step.options.plugin_input
    if len(names) != 1 or len(step.inputs) > 1:
        return ()
    try:
        tables = list(input_tables(parse_query(_query(step), dialect)))
    except SqlError:
        return ()
    others = sorted({table_name(table) for table in tables} - {*names, ANY_TABLE})
    return tuple(
        step.node.problem(f"the query reads {other!r}, which is read as its only input, {names[0]!r}", option=OPTION)
        for other in others
    )


def _query(step: Step) -> str:
    assert isinstance(step.factory, CatalystFactory)
    return step.factory.query(step.options)


def _unknown_tables(step: Step, query: str, tree: exp.Query) -> Iterator[Problem]:
    """With one input any table name is accepted, as in SeaTunnel; with several each table must be one of them."""
    from seatunnel_py.plan.sql.parse import at, input_tables, table_name

    names = step.options.plugin_input
    if len(names) < 2:
        return
    for table in input_tables(tree):
        name = table_name(table)
        if name in names:
            continue
        near = difflib.get_close_matches(name, names, n=1)
        found = at(table, f"the query reads {name!r}, which is not one of its inputs")
        remedy = f"inputs of this step: {', '.join(names)}"
        yield replace(_problem(step, query, found, remedy), suggestion=near[0] if near else "")


def _problem(step: Step, query: str, error: SqlError, remedy: str = "") -> Problem:
    """Place the problem at its own line of the job file. The position in a query's first line depends on its quotes, so
    there the message names it."""
    problem = step.node.problem(error.message, option=OPTION, remedy=remedy)
    if error.line > 1:
        return replace(problem, line=problem.line + error.line - 1, column=error.column)
    return replace(problem, message=str(error)) if error.line else problem
