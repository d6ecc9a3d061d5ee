"""What a job file may say to the Kafka source, and what is refused by name."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from seatunnel_connectors.kafka.client.client import Cluster
from seatunnel_connectors.kafka.client.settings import OURS, RENAMED, SAME, translated
from seatunnel_connectors.kafka.factory import KafkaSourceFactory
from seatunnel_connectors.kafka.source.options import KafkaSourceOptions, StartMode, TopicFormat
from seatunnel_py.api import StepContext, TablePath

SCHEMA = {"fields": {"id": "bigint"}}
SECRET = "not to be seen"


def parsed(**more: Any) -> KafkaSourceOptions:
    return KafkaSourceOptions.model_validate({"bootstrap.servers": "host:9092", "topic": "orders", **more})


def refusal(**more: Any) -> str:
    with pytest.raises(ValidationError) as caught:
        parsed(**more)
    return str(caught.value)


def test_the_defaults_are_the_peers() -> None:
    options = parsed()
    assert options.start_mode is StartMode.GROUP_OFFSETS and options.format is TopicFormat.JSON
    assert options.consumer_group == "SeaTunnel-Consumer-Group" and options.field_delimiter == ","
    assert options.commit_on_checkpoint and options.discovery_millis == 30_000


def test_topics_are_a_list() -> None:
    assert parsed(topic="a, b,c").topics == ("a", "b", "c")


@pytest.mark.parametrize(
    ("options", "path"),
    [
        ({}, TablePath("", "", "orders")),
        ({"topic": "shop.orders"}, TablePath("shop", "", "orders")),
        ({"topic": "a.b.c.d"}, TablePath("", "", "a.b.c.d")),
        ({"topic": "a.b,c.d"}, TablePath("", "", "a.b,c.d")),
        ({"topic": "a.*", "pattern": True}, TablePath("", "", "a.*")),
        ({"plugin_output": "read"}, TablePath("", "", "orders")),
        ({"schema": {"table": "db.t", **SCHEMA}}, TablePath("db", "", "t")),
    ],
)
def test_a_table_is_named_by_its_schema_or_its_topic(options: dict[str, Any], path: TablePath) -> None:
    """As with SeaTunnel: a sink's ${table_name} is the topic's name."""
    assert parsed(**options).path == path


def test_entries_of_a_list_need_no_names_of_their_own() -> None:
    entries = [{"topic": "^ogg.*", "pattern": True, "schema": SCHEMA}, {"topic": "canal", "schema": SCHEMA}]
    options = parsed(topic=None, tables_configs=entries, plugin_output="read")
    found = KafkaSourceFactory().create(options, StepContext("read"))
    assert [entry.path.table for entry in found.entries] == ["^ogg.*", "canal"]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"topic": None}, "exactly one of topic or tables_configs must be given"),
        ({"table_list": [{"topic": "b"}]}, "exactly one of topic or tables_configs must be given"),
        ({"start_mode": "timestamp"}, "start_mode.timestamp is required when start_mode is timestamp"),
        ({"start_mode": "specific_offsets"}, "start_mode.offsets is required when start_mode is specific_offsets"),
        ({"start_mode": "specific_offsets", "start_mode.offsets": {"orders": 1}}, "'orders' is not topic-partition"),
        ({"start_mode": "specific_offsets", "start_mode.offsets": {"orders-0": -1}}, "orders-0 is below 0"),
        ({"format": "protobuf"}, "protobuf_schema is required when format is protobuf"),
        (
            {"format": "compatible_debezium_json"},
            "the format compatible_debezium_json is one of the sink: read such documents as debezium_json",
        ),
        ({"format": "avro"}, "the format avro needs a schema"),
        ({"avro_schema": "{}"}, "avro_schema is only for the format avro"),
        ({"strip_schema_registry_header": True}, "only for the formats avro and protobuf"),
        (
            {"format": "avro", "schema": SCHEMA, "strip_schema_registry_header": True},
            "strip_schema_registry_header needs avro_schema",
        ),
        ({"pattern": True, "topic": "("}, "topic is not a regular expression"),
        ({"topics": "a"}, "topics"),
    ],
)
def test_what_does_not_fit_is_refused(options: dict[str, Any], reason: str) -> None:
    assert reason in refusal(**options)


def test_entries_of_a_list_share_what_stands_beside_it() -> None:
    """Nothing that a person wrote is silently without effect."""
    table = {"fields": {"id": "bigint"}, "table": "db.b"}
    options = parsed(
        topic=None, start_mode="earliest", format="avro", schema=SCHEMA,
        table_list=[{"topic": "a"}, {"topic": "b", "start_mode": "latest", "schema": table}],
    )  # fmt: skip
    first, second = options.table_options()
    assert (first.start_mode, second.start_mode) == (StartMode.EARLIEST, StartMode.LATEST)
    assert first.format is second.format is TopicFormat.AVRO
    assert first.declared is not None and second.declared is not None
    assert (first.declared.table, second.declared.table) == (None, "db.b")
    assert "needs a schema" in refusal(topic=None, format="avro", table_list=[{"topic": "a"}])


def test_offsets_have_dots_in_their_names() -> None:
    options = parsed(start_mode="specific_offsets", **{"start_mode.offsets": {"a.b-0": 7}})
    assert options.start_mode_offsets == {"a.b-0": 7}


# ---------------------------------------------------------------- settings of the client (S13)


@pytest.mark.parametrize(
    "config",
    [
        {"sasl.jaas.config": 'com.sun.security.auth.module.JndiLoginModule required user.provider.url="ldap://x";'},
        {"sasl.jaas.config": "nonsense"},
        {"config.providers": "file"},
        {"interceptor.classes": "evil.Class"},
        {"metric.reporters": "evil.Class"},
        {"sasl.login.callback.handler.class": "evil.Class"},
        {"plugin.library.paths": "/tmp/evil.so"},
        {"ssl.engine.location": "/tmp/evil.so"},
        {"sasl.mechanism": "GSSAPI"},
        {"ssl.truststore.location": "/etc/trust.jks"},
        {"debug": "all"},
    ],
)
def test_settings_beyond_the_list_are_refused(config: dict[str, str]) -> None:
    text = refusal(**{"kafka.config": config})
    assert all(value not in text for value in config.values() if len(value) > 8)


def test_a_login_of_java_becomes_user_and_password() -> None:
    jaas = (
        "org.apache.kafka.common.security.plain.PlainLoginModule required "
        f'username="me" password="{SECRET} \\"quoted\\"";'
    )
    options = parsed(**{"kafka.config": {"security.protocol": "SASL_SSL", "sasl.jaas.config": jaas}})
    cluster = Cluster.of(options.bootstrap_servers, options.kafka_config)

    settings = cluster.settings(group_id="g")
    assert settings["sasl.mechanism"] == "PLAIN" and settings["sasl.username"] == "me"
    assert settings["sasl.password"] == f'{SECRET} "quoted"' and settings["group.id"] == "g"
    assert SECRET not in repr(cluster) + repr(options) + str(options)


def test_a_mechanism_that_is_given_wins() -> None:
    jaas = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="me" password="x";'
    config = {"sasl.jaas.config": jaas, "sasl.mechanism": "SCRAM-SHA-512"}
    assert translated(config)["sasl.mechanism"] == "SCRAM-SHA-512"


def test_a_misspelt_setting_names_the_nearest() -> None:
    assert "did you mean fetch.min.bytes?" in refusal(**{"kafka.config": {"fetch.min.byte": "1"}})


def test_every_setting_is_known_to_the_client() -> None:
    """A name in the list that librdkafka does not have would fail in the middle of a job."""
    from confluent_kafka import Consumer, KafkaException

    for name in SAME | set(RENAMED.values()):
        try:
            Consumer({"group.id": "g", "log_level": 0, name: "?"})
        except KafkaException as error:
            assert "No such configuration property" not in str(error), name


def test_names_stand_in_one_list() -> None:
    assert not SAME & OURS and not SAME & set(RENAMED) and not OURS & set(RENAMED)


def test_the_factory_needs_no_client_library() -> None:
    import subprocess
    import sys

    code = "import seatunnel_connectors.kafka.factory, sys; sys.exit('confluent_kafka' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    assert KafkaSourceFactory.extra == "kafka"
