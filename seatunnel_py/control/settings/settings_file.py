"""Reads the blocks of the server's settings file, as job files are read: with references to secrets, and places."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from seatunnel_py.config.evaluate import Evaluation
from seatunnel_py.config.guard import DEFAULT_LIMITS, decode
from seatunnel_py.config.hocon import ObjectExpression, read
from seatunnel_py.config.includes import Includes
from seatunnel_py.config.resolve import nearest
from seatunnel_py.config.shade import Secrets
from seatunnel_py.config.tree import Node, SourcePlace
from seatunnel_py.config.variables import Variables
from seatunnel_py.errors import JobFileError, Problem

BLOCKS = ("notify", "egress", "store")


@dataclass(frozen=True, slots=True)
class SettingsBlocks:
    """``blocks``: those that are written, by name; ``secrets``: finds what they refer to; ``problems``: other names."""

    blocks: Mapping[str, Node]
    secrets: Secrets
    problems: tuple[Problem, ...]
    place: SourcePlace

    def block(self, name: str) -> Node:
        """A block; empty if it is not written."""
        return self.blocks.get(name, Node({}, self.place))


def blocks_of(path: Path, environment: Mapping[str, str]) -> SettingsBlocks:
    """Read a settings file. Raises JobFileError if it is none."""
    file = str(path)
    try:
        with path.open("rb") as opened:
            data = opened.read(DEFAULT_LIMITS.bytes + 4)
    except OSError as error:
        raise JobFileError((Problem(f"cannot be read: {error.strerror}", file),)) from None
    start = SourcePlace(file, 1, 1)
    block = read(decode(data, file), file)
    if not isinstance(block, ObjectExpression):
        raise start.error("a settings file is an object, not a list")
    evaluation = Evaluation(Variables({}, environment), Includes(path.parent, file, DEFAULT_LIMITS).load, start)
    evaluation.add(block)
    problems = [
        place.problem("unknown option", path=name, suggestion=nearest(name, BLOCKS))
        for name, place in evaluation.names().items()
        if name not in BLOCKS
    ]
    found = {name: node for name in BLOCKS if (node := evaluation.at(name)) is not None}
    named = environment.get("SEATUNNEL_SECRETS_DIR")
    secrets = Secrets(environment, (path.parent, *((Path(named),) if named else ())))
    return SettingsBlocks(found, secrets, tuple(problems), start)
