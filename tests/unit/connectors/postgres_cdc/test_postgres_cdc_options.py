"""Options of Postgres-CDC: those of SeaTunnel's job files are used, have no effect, or are refused with a remedy."""

from __future__ import annotations

import re
from typing import Any

import pytest
from pydantic import ValidationError

from seatunnel_connectors.jdbc.source.findings import Found
from seatunnel_connectors.postgres_cdc.claim import LogNames
from seatunnel_connectors.postgres_cdc.declared_keys import declared_keys, logged_by_key
from seatunnel_connectors.postgres_cdc.options import (
    OutputPlugin,
    PostgresCdcOptions,
    SlotDrop,
    StartupMode,
    StopMode,
    TableConfig,
)
from seatunnel_connectors.postgres_cdc.source import names_of, stop_of
from seatunnel_py.api import (
    Column,
    FatalError,
    JobMode,
    PrimaryKey,
    SchemaBehavior,
    SchemaEvent,
    SchemaPolicy,
    SourceTable,
    TablePath,
    TableSchema,
)
from seatunnel_py.api.types import BIGINT, STRING


def options(**more: Any) -> PostgresCdcOptions:
    given = {"base-url": "jdbc:postgresql://h/shop?loggerLevel=OFF", "table-names": ["shop.public.t"], **more}
    return PostgresCdcOptions.model_validate(given)


def test_every_option_of_seatunnel_is_known() -> None:
    found = options(
        **{
            "database-names": ["shop"], "database-pattern": "sh.*", "schema-names": ["public"],
            "table-names-config": [{"table": "shop.public.t", "primaryKeys": ["id"], "snapshotSplitColumn": "id"}],
            "startup.mode": "INITIAL", "stop.mode": "NEVER", "format": "default", "exactly_once": True,
            "snapshot.split.size": 8096, "snapshot.fetch.size": 1024, "incremental.parallelism": 1,
            "server-time-zone": "UTC", "connect.timeout.ms": 30000, "connect.max-retries": 3,
            "connection.pool.size": 20, "chunk-key.even-distribution.factor.upper-bound": 100,
            "chunk-key.even-distribution.factor.lower-bound": 0.05, "sample-sharding.threshold": 1000,
            "inverse-sampling.rate": 1000, "schema-changes.enabled": True, "int_type_narrowing": True,
            "enable_concurrent_read": False, "split.allow-sampling": False,
        }
    )  # fmt: skip

    assert found.table_config == (
        TableConfig.model_validate({"table": "shop.public.t", "primaryKeys": ["id"], "snapshotSplitColumn": "id"}),
    )
    assert (found.even_upper, found.even_lower, found.concurrent_read, found.allow_sampling) == (
        100,
        0.05,
        False,
        False,
    )


def test_settings_of_debezium_mean_the_options() -> None:
    settings = {
        "slot": {"name": "a", "drop.on.stop": False}, "publication.name": "b", "plugin.name": "wal2json",
        "publication": {"autocreate": {"mode": "disabled"}}, "snapshot.mode": "no_data", "heartbeat.interval.ms": 1000,
    }  # fmt: skip
    found = options(debezium=settings)

    assert names_of(found, "job", "step", "store") == LogNames("a", "b", own_slot=False, own_publication=False)
    assert (found.start, found.plugin) == (StartupMode.LATEST, OutputPlugin.WAL2JSON)
    assert found.slot_drop is SlotDrop.NEVER
    assert options(debezium={"slot": {"drop.on.stop": True}}).slot_drop is SlotDrop.WHEN_FINISHED
    assert options(debezium={"slot.name": "a"}, **{"slot.name": "a"}).slot_name == "a"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"slot.name": "b"}, "slot.name = b, but slot.name = a: give only one"),
        ({"snapshot.mode": "never"}, "snapshot.mode = never, but startup.mode = initial: give only one"),
        ({"snapshot.mode": "when_needed"}, "is not supported; use initial or never or no_data"),
        ({"publication.autocreate.mode": "all_tables"}, "is not supported; use filtered or disabled"),
        ({"slot.drop.on.stop": "maybe"}, "slot.drop.on.stop = maybe is not supported; use false or true"),
        ({"table.include.list": "x"}, "table.include.list has no effect here; name the tables with table-names"),
        ({"pubication.name": "x"}, "pubication.name is not known; did you mean 'publication.name'?"),
        ({"zzz": "x"}, "zzz is not known; leave it out"),
    ],
)
def test_other_settings_of_debezium_are_refused(settings: dict[str, str], said: str) -> None:
    with pytest.raises(ValidationError, match=re.escape(said)):
        options(debezium=settings, **{"slot.name": "a", "startup.mode": "initial"})


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"startup.mode": "timestamp"}, "use committed-offset"),
        ({"startup.mode": "SPECIFIC", "slot.name": "a"}, "startup.specific-offset.lsn is required"),
        ({"startup.mode": "specific", "startup.specific-offset.lsn": "0/1"}, "slot.name is required"),
        ({"stop.mode": "specific"}, "stop.specific-offset.lsn is required"),
        ({"stop.mode": "specific", "stop.specific-offset.lsn": "17"}, "write it as 16/B374D848"),
        ({"stop.mode": "timestamp"}, "stop.timestamp is required"),
        ({"debezium": {"value.converter.schema.enable": "false"}}, "did you mean 'value.converter.schemas.enable'"),
        (
            {"format": "COMPATIBLE_DEBEZIUM_JSON", "debezium": {"binary.handling.mode": "text"}},
            "binary.handling.mode = text is not supported; use bytes, base64, base64-url-safe, hex",
        ),
        ({"slot.drop": "when-finished", "slot.reuse": "true", "slot.name": "a"}, "drops a slot that the job has made"),
        ({"slot.drop": "when-finished", "startup.mode": "earliest"}, "drops a slot that the job has made"),
        ({"slot.drop": "when-finished", "startup.mode": "snapshot"}, "drops a slot that the job has made"),
        ({"database-names": ["other"]}, "the url names the database 'shop'"),
        ({"database-pattern": "other.*"}, "the url names the database 'shop'"),
        ({"table-names-config": [{"table": "t"}, {"table": "t"}]}, "t stands in it twice"),
    ],
)
def test_what_cannot_be_done_is_refused_with_a_remedy(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=re.escape(said)):
        options(**given)


def test_a_batch_job_ends() -> None:
    """Job files of SeaTunnel set no stop.mode in a job that never ends."""
    assert stop_of(options(), JobMode.BATCH) is StopMode.LATEST
    assert stop_of(options(), JobMode.STREAMING) is StopMode.NEVER
    assert stop_of(options(**{"stop.mode": "latest"}), JobMode.STREAMING) is StopMode.LATEST
    with pytest.raises(ValueError, match="leave it out, or set STREAMING"):
        stop_of(options(**{"stop.mode": "never"}), JobMode.BATCH)


def test_a_slot_is_dropped_by_a_job_that_ends() -> None:
    drops = {"slot.drop": "when-finished"}
    assert stop_of(options(**drops), JobMode.BATCH) is StopMode.LATEST
    with pytest.raises(ValueError, match="the job does not end by itself.*seatunnel jobs drop"):
        stop_of(options(**drops), JobMode.STREAMING)


@pytest.mark.parametrize("name", ["snapshot", "snapshot-only", "SNAPSHOT"])
def test_a_snapshot_has_two_names(name: str) -> None:
    assert options(**{"startup.mode": name}).start is StartupMode.SNAPSHOT_ONLY


def test_a_split_column_needs_a_named_table() -> None:
    """F-C43: where it has no effect it is refused."""
    entries = [{"table": "shop.public.t", "snapshotSplitColumn": "id"}]
    with pytest.raises(ValidationError, match="snapshotSplitColumn needs table-names"):
        PostgresCdcOptions.model_validate(
            {"url": "jdbc:postgresql://h/shop", "table-pattern": ".*", "table-names-config": entries}
        )


# ---------------------------------------------------------------- keys

PATH = TablePath("shop", "public", "t")
COLUMNS = (Column("id", BIGINT, nullable=False), Column("code", STRING, nullable=False))
OWN = SourceTable(TableSchema(PATH, COLUMNS, PrimaryKey(("id",), proved=True)))
KEYLESS = SourceTable(TableSchema(PATH, COLUMNS))


def keyed(table: SourceTable, name: str, *columns: str) -> PrimaryKey | None:
    found: list[Found] = declared_keys(
        [TableConfig.model_validate({"table": name, "primaryKeys": columns})], "shop", [table]
    )
    assert isinstance(found[0], SourceTable)
    return found[0].schema.primary_key


def test_declared_keys_take_the_place_of_others() -> None:
    declared = PrimaryKey(("code",), proved=False)
    assert keyed(KEYLESS, "shop.public.t", "code") == keyed(OWN, "public.t", "code") == declared
    assert keyed(OWN, "shop.public.t", "id") == OWN.schema.primary_key == keyed(OWN, "shop.public.t")
    assert keyed(KEYLESS, "shop.public.t") is None


@pytest.mark.parametrize(
    ("name", "column", "said"),
    [
        ("shop.public.tt", "id", "table-names-config holds shop.public.tt, which this step does not read"),
        ("other.public.t", "id", "table-names-config holds other.public.t, which this step does not read"),
        ("shop.public.t", "cod", "declares the key cod, but its columns are id, code"),
    ],
)
def test_declared_keys_that_fit_no_table_are_refused(name: str, column: str, said: str) -> None:
    with pytest.raises(FatalError, match=re.escape(said)):
        keyed(OWN, name, column)


def test_tables_with_a_key_are_marked_for_sinks() -> None:
    assert logged_by_key(OWN).schema.options == {"logged_by_key": "true"}
    assert logged_by_key(KEYLESS) == KEYLESS


@pytest.mark.parametrize(
    ("given", "policy"),
    [
        ({}, SchemaPolicy(SchemaBehavior.EXCEPTION)),
        ({"schema-changes.enabled": True}, SchemaPolicy()),
        (
            {
                "schema-changes.enabled": True,
                "schema-changes.behavior": "LENIENT",
                "schema-changes.exclude": ["add.column"],
            },
            SchemaPolicy(SchemaBehavior.LENIENT, exclude=frozenset({SchemaEvent.ADD_COLUMN})),
        ),
        (
            {"schema-changes.enabled": True, "schema-changes.behavior": "exception"},
            SchemaPolicy(SchemaBehavior.EXCEPTION),
        ),
    ],
)
def test_a_policy_of_schema_changes(given: dict[str, Any], policy: SchemaPolicy) -> None:
    assert options(**given).schema_policy == policy


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"schema-changes.behavior": "ignore"}, "need schema-changes.enabled = true"),
        ({"schema-changes.enabled": False, "schema-changes.include": ["add.column"]}, "need schema-changes.enabled"),
        (
            {"schema-changes.enabled": True, "schema-changes.include": ["add.column"],
             "schema-changes.exclude": ["ADD.COLUMN"]},
            "name the same change",
        ),
        ({"schema-changes.enabled": True, "schema-changes.exclude": ["drop.colunm"]}, "drop.column"),
        ({"schema-changes.enabled": True, "schema-changes.behavior": "evolv"}, "evolve"),
    ],
)  # fmt: skip
def test_a_policy_that_contradicts_itself_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError) as error:
        options(**given)
    assert said in str(error.value)
