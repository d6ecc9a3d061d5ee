"""The settings of the block ``debezium`` that job files hold: each means an option of the step, is without effect here,
or is refused with a remedy."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from seatunnel_connectors.debezium_json.settings import SETTINGS, RowFormat, problems_of

MEANT: Mapping[str, tuple[str, str]] = {
    "slot.name": ("slot_name", "slot.name"),
    "slot.drop.on.stop": ("slot_drop", "slot.drop"),
    "publication.name": ("publication_name", "publication.name"),
    "publication.autocreate.mode": ("publication_mode", "publication.autocreate.mode"),
    "plugin.name": ("plugin", "decoding.plugin.name"),
    "snapshot.mode": ("start", "startup.mode"),
}
"""By setting, the attribute and the key of the option that it means."""
_SNAPSHOT_MODES = {"initial": "initial", "never": "latest", "no_data": "latest", "initial_only": "snapshot-only"}
_VALUES: Mapping[str, Mapping[str, str]] = {
    "snapshot.mode": _SNAPSHOT_MODES,
    "publication.autocreate.mode": {"filtered": "filtered", "disabled": "disabled"},
    "slot.drop.on.stop": {"false": "never", "true": "when-finished"},
}
ACCEPTED = frozenset(
    {
        "heartbeat.interval.ms", "heartbeat.topics.prefix", "include.schema.changes", "snapshot.locking.mode",
        "snapshot.isolation.mode", "snapshot.fetch.size", "decimal.handling.mode", "binary.handling.mode",
        "time.precision.mode", "hstore.handling.mode", "interval.handling.mode", "money.fraction.digits",
        "max.batch.size", "max.queue.size", "max.queue.size.in.bytes", "poll.interval.ms", "slot.max.retries",
        "slot.retry.delay.ms", "status.update.interval.ms", "schema.refresh.mode", "tombstones.on.delete",
        "provide.transaction.metadata", "unavailable.value.placeholder", "include.unknown.datatypes",
        "schema.name.adjustment.mode",
    }
)  # fmt: skip
"""Settings without effect: rows are exact with every value of them."""
_NAMES = "name the tables with table-names or table-pattern, and the columns with a transform"
REFUSED: Mapping[str, str] = {
    "database.sslmode": "set sslmode in the url",
    "database.initial.statements": "set options in the url: options=-c%20name=value",
    "database.tcpKeepAlive": "set keepalives in the url",
    "schema.include.list": "set schema-names",
    "schema.exclude.list": "set schema-names",
    "table.include.list": _NAMES,
    "table.exclude.list": _NAMES,
    "column.include.list": _NAMES,
    "column.exclude.list": _NAMES,
    "message.key.columns": "set primaryKeys in table-names-config",
    "skipped.operations": "drop rows by their kind with the transform FilterRowKind",
    "event.processing.failure.handling.mode": "allow bad rows with env.error.max-rows",
    "inconsistent.schema.handling.mode": "leave it out: a table that differs from its definition is ISOLATED",
    "signal.data.collection": "leave it out: `seatunnel jobs` sends requests to a job",
    "heartbeat.action.query": "leave it out: the slot moves on while the captured tables are quiet",
    "slot.stream.params": "leave it out: pgoutput is always used",
    "slot.failover": "leave it out: a cluster manager copies the slot, and without it the job stops after a failover",
    "offset.mismatch.strategy": "leave it out: a slot that is ahead of the job is refused, with both positions",
}


def meant(given: Mapping[str, str]) -> dict[str, str]:
    """The options that the settings mean, by attribute; wrong settings mean none."""
    wanted = ((MEANT[name][0], _value(name, text)) for name, text in given.items() if name in MEANT)
    return {attribute: value for attribute, value in wanted if value}


def check_settings(given: Mapping[str, str], options: Mapping[str, object]) -> None:
    """Raise ValueError for settings that should have an effect, that Debezium does not have either, or that differ from
    an option. ``options``: the valid ones by attribute."""
    problems = list(filter(None, (_problem(name, given[name], options) for name in sorted(given))))
    if options.get("format") is RowFormat.DEBEZIUM:
        problems += problems_of(given)
    if problems:
        raise ValueError("; ".join(problems))


def _value(name: str, text: str) -> str:
    """The option's value; empty if the setting's value is not supported."""
    return _VALUES[name].get(text.lower(), "") if name in _VALUES else text


def _problem(name: str, text: str, options: Mapping[str, object]) -> str:
    if name in REFUSED:
        return f"{name} has no effect here; {REFUSED[name]}"
    if name in MEANT:
        attribute, key = MEANT[name]
        if not (value := _value(name, text)):
            return f"{name} = {text} is not supported; use {' or '.join(_VALUES[name])}"
        other = options.get(attribute, value)
        return f"{name} = {text}, but {key} = {other}: give only one" if other != value else ""
    if name in ACCEPTED or name in SETTINGS:
        return ""
    near = difflib.get_close_matches(name, [*MEANT, *ACCEPTED, *SETTINGS, *REFUSED], n=1)
    return f"{name} is not known" + (f"; did you mean {near[0]!r}?" if near else "; leave it out")
