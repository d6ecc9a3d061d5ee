"""The settings of the block ``debezium`` that job files hold: each is without effect here, or refused with a remedy."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from seatunnel_connectors.debezium_json.settings import SETTINGS, RowFormat, problems_of

ACCEPTED = frozenset(
    {
        "include.schema.changes", "snapshot.locking.mode", "snapshot.isolation.mode", "snapshot.fetch.size",
        "heartbeat.interval.ms", "heartbeat.topics.prefix", "decimal.handling.mode", "bigint.unsigned.handling.mode",
        "binary.handling.mode", "time.precision.mode", "max.batch.size", "max.queue.size", "max.queue.size.in.bytes",
        "poll.interval.ms", "connect.timeout.ms", "connect.keep.alive", "connect.keep.alive.interval.ms",
        "connect.backoff.initial.delay.ms", "connect.backoff.max.delay.ms", "min.row.count.to.stream",
        "gtid.source.filter.dml.events", "tombstones.on.delete", "provide.transaction.metadata",
        "database.history.store.only.captured.tables.ddl", "schema.history.internal.store.only.captured.tables.ddl",
        "schema.name.adjustment.mode", "incremental.snapshot.chunk.size", "include.query", "binlog.buffer.size",
        "enable.time.adjuster",
    }
)  # fmt: skip
"""Settings without effect: rows are exact with every value of them."""
_PATTERNS = "name the tables with table-names or table-pattern, and the columns with a transform"
REFUSED: Mapping[str, str] = {
    "snapshot.mode": "set startup.mode",
    "database.server.id": "set server-id",
    "database.serverTimezone": "leave it out: timestamps are instants",
    "database.ssl.mode": "set sslMode in the url",
    "database.include.list": "set database-names, or name the tables",
    "table.include.list": _PATTERNS,
    "table.exclude.list": _PATTERNS,
    "column.include.list": _PATTERNS,
    "column.exclude.list": _PATTERNS,
    "message.key.columns": "set primaryKeys in table-names-config",
    "skipped.operations": "drop rows by their kind with the transform FilterRowKind",
    "event.processing.failure.handling.mode": "allow bad rows with env.error.max-rows",
    "inconsistent.schema.handling.mode": "leave it out: a table that differs from its definition stops the job",
    "event.deserialization.failure.handling.mode": "allow bad rows with env.error.max-rows",
    "schema.history.internal.skip.unparseable.ddl": "leave it out: statements on captured tables always count",
    "database.history.skip.unparseable.ddl": "leave it out: statements on captured tables always count",
    "signal.data.collection": "leave it out: `seatunnel jobs` sends requests to a job",
    "heartbeat.action.query": "leave it out: the log of a quiet server needs no writes to move on",
    "gtid.source.includes": "leave it out: the log of one server is read",
    "gtid.source.excludes": "leave it out: the log of one server is read",
}


def check_settings(given: Mapping[str, str], form: RowFormat = RowFormat.DEFAULT) -> None:
    """Raise ValueError for settings that should have an effect, that Debezium does not have either, or whose values
    rows of this form cannot have."""
    problems = problems_of(given) if form is RowFormat.DEBEZIUM else []
    known = ACCEPTED | SETTINGS
    for name in sorted(given):
        if name in REFUSED:
            problems.append(f"{name!r} has no effect here; {REFUSED[name]}")
        elif name not in known:
            near = difflib.get_close_matches(name, [*known, *REFUSED], n=1)
            problems.append(f"{name!r} is not known" + (f"; did you mean {near[0]!r}?" if near else "; leave it out"))
    if problems:
        raise ValueError("; ".join(problems))
