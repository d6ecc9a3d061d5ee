"""A job file as it runs here: scratch directories for its paths, our servers for its hosts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_PATH = re.compile(r'(?<![\w./-])(/seatunnel/read|/tmp)(?=[/"\s]|$)', re.MULTILINE)
_URL = re.compile(r"(jdbc:mysql|jdbc:postgresql|http)://[^/\s\"]+/")
_BROKERS = re.compile(r'(bootstrap\.servers\s*=\s*)"[^"]*"')
KINDS = {"jdbc:mysql": "mysql", "jdbc:postgresql": "postgresql", "http": "models"}
NOWHERE = "no.such.host"
NOT_STRICT = "\nenv.strict = false\n"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """``read`` is a copy of the data, ``tmp`` what the job may write to; ``hosts`` maps a kind of server to
    ``host:port``."""

    read: Path
    tmp: Path
    hosts: Mapping[str, str]


def rewritten(text: str, around: Surroundings, *, strict: bool) -> str:
    """The text with prefixes and hosts replaced; nothing else is touched, but for the switch ``env.strict``."""
    places = {"/seatunnel/read": str(around.read), "/tmp": str(around.tmp)}
    text = _PATH.sub(lambda match: places[match[1]], text)
    text = _URL.sub(lambda match: f"{match[1]}://{around.hosts.get(KINDS[match[1]], NOWHERE)}/", text)
    text = _BROKERS.sub(lambda match: f'{match[1]}"{around.hosts.get("kafka", NOWHERE)}"', text)
    return text if strict else text + NOT_STRICT


def servers_of(text: str) -> frozenset[str]:
    """The kinds of server that a job connects to: ``mysql``, ``postgresql``, ``models``, ``kafka``."""
    kafka = ["kafka"] if _BROKERS.search(text) else []
    return frozenset([*(KINDS[match[1]] for match in _URL.finditer(text)), *kafka])
