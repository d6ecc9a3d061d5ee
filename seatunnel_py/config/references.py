"""Stores secrets by reference: stored data holds the reference, and the value is inserted when it is used.

Rules. (1) Nothing on disk holds the value of ``${env:NAME}`` or ``${file:path}``. (2) A stored text is opened with the
current values: a password that was changed since is the new one. (3) Options that are secret by name are never stored.
(4) A text that only looks like a reference comes back unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from seatunnel_py.config.shade import REFERENCE, Secrets
from seatunnel_py.config.tree import Node
from seatunnel_py.redaction import CHARACTERS_MIN, is_sensitive, pattern_of

_LOOKS_LIKE_ONE = re.compile(r"\$\{(?=(?:env|file|text):)")
_LITERAL = "${text:"  # prefix of a text that only looks like a reference


@dataclass(frozen=True, slots=True)
class References:
    """``values``: the value of each reference, by the reference as written."""

    values: Mapping[str, str] = field(default_factory=dict, repr=False)

    def sealed(self, plain: Any) -> Any:
        """Replace values in plain data by their references."""
        if not self.values:
            return plain
        by_value = {value: written for written, value in self.values.items()}
        longest = sorted(by_value, key=len, reverse=True)
        found = re.compile("|".join([_LOOKS_LIKE_ONE.pattern, *map(pattern_of, longest)]))
        return _mapped(plain, lambda text: found.sub(lambda match: by_value.get(match[0], _LITERAL), text))

    def opened(self, plain: Any) -> Any:
        """Invert ``sealed``; a reference that the job does not have stays."""
        if not self.values:
            return plain

        def value(match: re.Match[str]) -> str:
            return "${" if match[0] == _LITERAL else self.values.get(match[0], match[0])

        either = re.compile(f"{re.escape(_LITERAL)}|{REFERENCE.pattern}")
        return _mapped(plain, lambda text: either.sub(value, text))


def references_in(options: Node, secrets: Secrets, more: Collection[str] = ()) -> References:
    """Collect the references in a step's options whose values may get into other texts. ``more``:
    ``env.shade.options``."""
    found: dict[str, str] = {}
    for path, node in options.leaves():
        if is_sensitive(path) or path in more or not isinstance(node.value, str):
            continue
        for match in REFERENCE.finditer(node.value):
            try:
                value = secrets.reveal(match[1], match[2].strip())
            except LookupError:
                continue  # a problem of the job file, reported with it
            if len(value) >= CHARACTERS_MIN:
                found[match[0]] = value
    return References(found)


def all_of(several: Iterable[References]) -> References:
    """Merge the references of several steps of one job."""
    return References({written: value for one in several for written, value in one.values.items()})


def unknown(plain: Any) -> list[str]:
    """References that remain in plain data after it was opened."""
    found: dict[str, None] = {}
    waiting = [plain]
    while waiting:
        value = waiting.pop()
        if type(value) is str:
            if "${" in value:
                found.update(dict.fromkeys(match[0] for match in REFERENCE.finditer(value)))
        elif isinstance(value, Mapping):
            waiting.extend(value.values())
        elif isinstance(value, list | tuple):
            waiting.extend(value)
    return sorted(found)


def _mapped(plain: Any, change: Callable[[str], str]) -> Any:
    """Change values; keys are names and stay."""
    if type(plain) is str:
        return change(plain)
    if isinstance(plain, Mapping):
        return {key: _mapped(value, change) for key, value in plain.items()}
    if isinstance(plain, list | tuple):
        return [_mapped(value, change) for value in plain]
    return plain
