"""Parses a Kafka address of the command line: ``kafka://host:9092,other:9092/topic``."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

from seatunnel_py.api import Plain, Shorthand


def brokers_and_topic(end: Shorthand) -> Mapping[str, Plain] | None:
    """Return brokers and topic; None: not a Kafka address. Raises ValueError if a part is missing, or if the address
    asks for more than it can express."""
    if end.scheme != "kafka":
        return None
    parts = urlsplit(end.address)
    topic = unquote(parts.path.strip("/"))
    if not parts.netloc or not topic:
        raise ValueError("an address of Kafka names a broker and a topic: kafka://host:9092/topic")
    if end.user or end.tables or end.exclude or end.kinds or end.into or end.replace or end.append:
        raise ValueError("users, tables and what happens to records that are there are for a job file")
    return {"bootstrap.servers": parts.netloc, "topic": topic}
