"""How stored bytes are damaged; pure but for the generator that is given."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

Others = Sequence[bytes]
"""What lies beside it, or lay under its name before."""


def _bit(chance: random.Random, data: bytes, _: Others) -> bytes:
    at = chance.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :]


def _byte(chance: random.Random, data: bytes, _: Others) -> bytes:
    at = chance.randrange(len(data))
    return data[:at] + bytes([chance.choice([one for one in range(256) if one != data[at]])]) + data[at + 1 :]


def _digit(chance: random.Random, data: bytes, others: Others) -> bytes:
    """One wrong digit, as in the smallest repeat of P4-F1."""
    places = [at for at, one in enumerate(data) if 48 <= one <= 57]
    if not places:
        return _byte(chance, data, others)
    at = chance.choice(places)
    return data[:at] + chance.choice([b"%d" % one for one in range(10) if one != data[at] - 48]) + data[at + 1 :]


def _line(chance: random.Random, data: bytes, _: Others) -> bytes:
    lines = data.splitlines(keepends=True)
    del lines[chance.randrange(len(lines))]
    return b"".join(lines)


def _lines(chance: random.Random, data: bytes, _: Others) -> bytes:
    lines = data.splitlines(keepends=True)
    chance.shuffle(lines)
    return b"".join(lines)


def _zeros(chance: random.Random, data: bytes, _: Others) -> bytes:
    """A block of it, or all."""
    start = chance.choice([0, chance.randrange(len(data))])
    end = chance.choice([len(data), chance.randrange(start, len(data)) + 1])
    return data[:start] + bytes(end - start) + data[end:]


KINDS: dict[str, Callable[[random.Random, bytes, Others], bytes | None]] = {
    "bit": _bit,
    "byte": _byte,
    "digit": _digit,
    "cut": lambda chance, data, _: data[: chance.randrange(len(data))],
    "one byte less": lambda _, data, __: data[:-1],
    "empty": lambda *_: b"",
    "zeros": _zeros,
    "random": lambda chance, data, _: chance.randbytes(len(data)),
    "doubled": lambda _, data, __: data + data,
    "deleted": lambda *_: None,
    "other content": lambda chance, _, others: chance.choice(others) if others else None,
    "line gone": _line,
    "lines in another order": _lines,
}


def damaged(chance: random.Random, data: bytes, others: Others) -> tuple[str, bytes | None]:
    """A kind of damage, and what is there then; None: nothing. It is never what was there before."""
    while True:
        kind = chance.choice(list(KINDS) if data else ["deleted", "other content"])
        found = KINDS[kind](chance, data, others)
        if found != data:
            return kind, found
