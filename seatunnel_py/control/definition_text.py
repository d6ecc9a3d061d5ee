"""The text of a definition: a job file that may be saved, because it holds no secret but by reference."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from seatunnel_py.config.guard import decode
from seatunnel_py.config.job_file import loads
from seatunnel_py.config.shade import literal_secrets
from seatunnel_py.config.variables import SECRET_SCHEMES
from seatunnel_py.errors import JobFileError, Problem

REMEDY = "refer to it: ${env:NAME}, or ${file:NAME} for a file in SEATUNNEL_SECRETS_DIR"
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")


@dataclass(frozen=True, slots=True)
class DefinitionText:
    """A checked text. ``digest``: SHA-256 of it as written; ``variables``: the names that it needs or accepts."""

    text: str
    digest: str
    variables: frozenset[str]

    @classmethod
    def of(cls, text: str, file: str) -> DefinitionText:
        """Check a text; ``file``: its name in messages. Raises JobFileError for one that cannot be read, or has a
        literal secret, with line and column. Reads no other file, and no variable of the environment."""
        decode(text.encode(), file)
        problems: list[Problem] = []
        job = loads(text, {}, file=file, root=None, environment={}, collect=problems, decrypt=False)
        trees = [(job.env_tree, "env"), *((step.options, step.path) for step in job.steps)]
        literal = [
            node.place.problem("a secret is written in the job file", path=f"{where}.{path}", remedy=REMEDY)
            for tree, where in trees
            for path, node in literal_secrets(tree, job.env.shade_options)
        ]
        if literal:
            raise JobFileError(tuple(literal))
        return cls(text, hashlib.sha256(text.encode()).hexdigest(), job.variables - SECRET_SCHEMES)


def is_definition_id(text: str) -> bool:
    """Whether the text can name a definition: it is part of paths and of run ids."""
    return _ID.fullmatch(text) is not None


def definition_file(home: Path, definition: str, revision: int) -> Path:
    """The file of a revision, from which its runs are started."""
    return home / "server" / "definitions" / definition / f"revision-{revision:06}.conf"
