"""Translates Kafka client settings from the Java names in job files to librdkafka's names.

The table is an allow-list: any setting that it lacks is refused. Java's settings can name classes to load and files to
read (CVE-2023-25194, CVE-2024-31141); only the two login modules with user and password are accepted.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


SAME = _words(
    """
    security.protocol sasl.mechanism sasl.username sasl.password ssl.endpoint.identification.algorithm
    ssl.ca.location ssl.certificate.location ssl.key.location ssl.key.password
    ssl.key.pem ssl.certificate.pem ssl.ca.pem ssl.keystore.location ssl.keystore.password ssl.cipher.suites
    client.id client.rack check.crcs metadata.max.age.ms connections.max.idle.ms reconnect.backoff.ms
    reconnect.backoff.max.ms retry.backoff.ms socket.timeout.ms socket.keepalive.enable
    socket.connection.setup.timeout.ms broker.address.family
    allow.auto.create.topics fetch.min.bytes fetch.max.bytes fetch.wait.max.ms fetch.message.max.bytes
    max.partition.fetch.bytes queued.max.messages.kbytes
    acks linger.ms batch.size batch.num.messages compression.type compression.codec delivery.timeout.ms
    message.max.bytes max.in.flight.requests.per.connection enable.idempotence retries transaction.timeout.ms
    """
)
"""Settings with the same name in librdkafka."""

RENAMED = {
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "max.request.size": "message.max.bytes",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "request.timeout.ms": "socket.timeout.ms",
    "send.buffer.bytes": "socket.send.buffer.bytes",
    "ssl.certificate.chain": "ssl.certificate.pem",
}

OURS = _words(
    """
    bootstrap.servers group.id auto.offset.reset enable.auto.commit auto.commit.interval.ms isolation.level
    max.poll.records max.poll.interval.ms session.timeout.ms heartbeat.interval.ms partition.assignment.strategy
    key.deserializer value.deserializer key.serializer value.serializer transactional.id buffer.memory
    default.api.timeout.ms
    """
)
"""Settings that SeaTunnel job files contain and that are ignored here: other options decide them, or they mean nothing
without consumer groups. ``auto.offset.reset`` is the exception: see the source's options."""

WITH_FILES_OF_JAVA = ("ssl.truststore.location", "ssl.truststore.password", "ssl.truststore.type", "ssl.keystore.type")

_JAAS = re.compile(r"\s*([\w.$]+)\s+(?:required|requisite|sufficient|optional)\b(.*?);\s*", re.DOTALL)
_JAAS_OPTION = re.compile(r"""(\w+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([^\s;]+))""")
_MODULES = {
    "org.apache.kafka.common.security.plain.PlainLoginModule": "PLAIN",
    "org.apache.kafka.common.security.scram.ScramLoginModule": "SCRAM-SHA-256",
}


def translated(config: Mapping[str, str]) -> dict[str, str]:
    """Return the settings as librdkafka takes them. Raises ValueError, which never shows a value."""
    found: dict[str, str] = {}
    for name, value in config.items():
        if name == "sasl.jaas.config":
            found = {**_login(value), **found}
        elif name in SAME:
            found[name] = value
        elif name in RENAMED:
            found[RENAMED[name]] = value
        elif name in WITH_FILES_OF_JAVA:
            raise ValueError(
                f"{name}: Java's key stores cannot be read; give PEM files with ssl.ca.location, "
                "ssl.certificate.location and ssl.key.location, or PKCS#12 with ssl.keystore.location"
            )
        elif name not in OURS:
            near = difflib.get_close_matches(name, [*SAME, *RENAMED, *OURS], n=1)
            raise ValueError(f"{name} is not a setting that may be given{f'; did you mean {near[0]}?' if near else ''}")
    if found.get("sasl.mechanism", "PLAIN").upper() not in ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"):
        raise ValueError("sasl.mechanism may be PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512")
    return found


def _login(jaas: str) -> dict[str, str]:
    match = _JAAS.fullmatch(jaas)
    if match is None or match[1] not in _MODULES:
        raise ValueError(f"sasl.jaas.config may name one of {', '.join(_MODULES)}, with username and password")
    options = {
        name: re.sub(r"\\(.)", r"\1", quoted) or single or bare
        for name, quoted, single, bare in _JAAS_OPTION.findall(match[2])
    }
    if set(options) != {"username", "password"}:
        raise ValueError("sasl.jaas.config must give username and password, and nothing else")
    return {
        "sasl.mechanism": _MODULES[match[1]],
        "sasl.username": options["username"],
        "sasl.password": options["password"],
    }


def _checked(config: dict[str, str]) -> dict[str, str]:
    translated(config)
    return config


KafkaSettings = Annotated[dict[str, str], AfterValidator(_checked)]
"""The option ``kafka.config``."""
