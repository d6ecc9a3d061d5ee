"""The capabilities that a plugin declares, for each of its examples."""

from __future__ import annotations

from seatunnel_py.api import (
    Column,
    DataType,
    Determinism,
    Kind,
    PrimaryKey,
    SinkCapabilities,
    SourceCapabilities,
    TablePath,
    TableSchema,
    TransformCapabilities,
)
from seatunnel_py.plan.plugins.registry import PluginKind
from seatunnel_py.plan.sql.analysis import CatalystFactory
from tests.docs.site import examples
from tests.docs.site.installed import Plugin
from tests.docs.site.markdown import plain, table

ORDERS = TableSchema(
    TablePath("shop", "", "orders"),
    (Column("id", DataType(Kind.BIGINT)), Column("customer", DataType(Kind.STRING))),
    primary_key=PrimaryKey(("id",), "orders_pk"),
)
"""The table that a sink is asked about: one with a key."""

DETERMINISM = {
    Determinism.DETERMINATE: "the same rows in the same order",
    Determinism.UNORDERED: "the same rows, perhaps in another order",
    Determinism.INDETERMINATE: "perhaps other rows",
}


def section(plugin: Plugin) -> str:
    """A table with one column for each example. Empty where there is no example."""
    if isinstance(plugin.factory, CatalystFactory):
        return "They follow from the query: `seatunnel plan` shows them for each path.\n"
    found = [(one.title, _of(plugin, one)) for one in examples.of(plugin)]
    if not found:
        return ""
    lines = [[name, *(declared[name] for _, declared in found)] for name in found[0][1]]
    return table(["", *(plain(title) for title, _ in found)], lines)


def _of(plugin: Plugin, example: examples.Example) -> dict[str, str]:
    step, job = examples.step(example.path, plugin), examples.understood(example.path)
    if plugin.kind is PluginKind.SOURCE:
        return _source(plugin.factory.capabilities(step.options, step.context(job)))
    if plugin.kind is PluginKind.SINK:
        return _sink(plugin.factory.capabilities(step.options, ORDERS, step.context(job)))
    return _transform(plugin.factory.capabilities(step.options))


def _source(declared: SourceCapabilities) -> dict[str, str]:
    return {
        "reads to an end": _yes(declared.bounded),
        "can be read again after a restart": _yes(declared.replayable),
        "a second reading gives": DETERMINISM[declared.determinism],
        "reads splits in parallel": _yes(declared.parallel),
        "each table has a pipeline of its own": _yes(declared.independent_tables),
    }


def _transform(declared: TransformCapabilities) -> dict[str, str]:
    return {
        "rows out for rows in": declared.cardinality.value,
        "the same input gives": DETERMINISM[declared.determinism],
        "keeps keys": _yes(declared.keeps_keys),
    }


def _sink(declared: SinkCapabilities) -> dict[str, str]:
    return {
        "guarantee, for a table with a primary key": plain(f"{declared.guarantee.text}: {declared.why}"),
        "takes several tables": _yes(declared.multi_table),
        "refuses a driver that was replaced": _yes(declared.fenced),
        "a later row replaces the one of its key": plain(", ".join(f"`{key}`" for key in declared.keys)) or "no",
        "readers see the rows in order": _yes(declared.keeps_order),
        "an older row that comes late is dropped": _yes(declared.versioned),
    }


def _yes(value: bool) -> str:
    return "yes" if value else "no"
