"""Mutated streams of PostgreSQL's logical replication: each is decoded to the right rows or refused with a typed error,
nothing else, and none takes a second.

Right is what a decoder says that reads one message after the other, without numpy. Run as
``python -m tests.fuzz.mutate_replication --count 250000 --seed 1``. A failure prints the seed and the ordinal, which make
the same stream again.
"""

from __future__ import annotations

import random
import struct
import sys
from collections.abc import Sequence

import numpy as np

from seatunnel_connectors.postgres_cdc.pgoutput.errors import HeldTooMuchError, MalformedMessageError
from seatunnel_connectors.postgres_cdc.pgoutput.frames import find_frames
from seatunnel_connectors.postgres_cdc.pgoutput.messages import PADDING, Messages
from seatunnel_connectors.postgres_cdc.pgoutput.relations import TableRefused
from tests.connectors.postgres_cdc import encoder as pg
from tests.connectors.postgres_cdc.encoder import UNCHANGED, Column
from tests.connectors.postgres_cdc.reading import ABSENT, INT8, TEXT, Shown, all_rows, decoder
from tests.fuzz.campaign import Campaign

STREAMING = frozenset(b"SEcAbPKrp")
NASTY = (
    b"\0",
    b"\xff",
    b"\x7f\xff\xff\xff",
    b"\xff\xff\xff\xff",
    b"n",
    b"u",
    b"t",
    b"b",
    b"N",
    b"O",
    b"K",
    b"d\0\0\0\x1ew",
)
KINDS = {b"I"[0]: "+I", b"D"[0]: "-D", b"U"[0]: "+U"}


# ---------------------------------------------------------------- streams


def stream(chance: random.Random) -> list[bytes]:
    """A sound stream: some tables, some transactions, now and then a streamed one."""
    tables = [
        (
            16400 + number,
            [Column(f"c{at}", chance.choice((INT8, TEXT)), key=at == 0) for at in range(chance.choice((1, 2, 4)))],
        )
        for number in range(chance.choice((1, 1, 2)))
    ]
    relations = [pg.relation(oid, f"t{oid}", columns) for oid, columns in tables]
    messages: list[bytes] = []
    for number in range(chance.choice((1, 1, 2, 3))):
        lsn, changes = 100 * (number + 1), [one for one in relations if number == 0 or chance.random() < 0.1]
        changes += [_change(chance, *chance.choice(tables)) for _ in range(chance.randrange(8))]
        if chance.random() < 0.1:
            changes.append(pg.truncate([16400]))
        if chance.random() < 0.15:
            messages += [
                pg.stream_start(number, first=True),
                *[pg.in_stream(one, number) for one in changes],
                pg.STREAM_STOP,
            ]
            messages.append(pg.stream_commit(number, lsn, lsn + 1))
        else:
            messages += [pg.begin(lsn), *changes, pg.commit(lsn, lsn + 1)]
    return messages


def _change(chance: random.Random, oid: int, columns: Sequence[Column]) -> bytes:
    def cells(*, whole: bool) -> list[object]:
        found: list[object] = []
        for column in columns:
            odd = chance.random()
            value = str(chance.randrange(10**6)) if column.oid == INT8 else "x" * chance.choice((0, 1, 5, 300))
            found.append(value if column.key or whole or odd < 0.7 else UNCHANGED if odd < 0.85 else None)
        return found

    match chance.randrange(5):
        case 0:
            return pg.delete(oid, [cell if number == 0 else None for number, cell in enumerate(cells(whole=False))])
        case 1:
            return pg.update(oid, cells(whole=False))
        case 2:
            old = [cell if number == 0 else None for number, cell in enumerate(cells(whole=False))]
            return pg.update(oid, cells(whole=False), old, "K")
        case _:
            return pg.insert(oid, [None if cell is UNCHANGED else cell for cell in cells(whole=False)])


def mutated(messages: list[bytes], chance: random.Random) -> list[bytes]:
    found = list(messages)
    for _ in range(chance.choice((0, 1, 1, 2, 4))):
        at = chance.randrange(len(found))
        match chance.randrange(6):
            case 0:
                del found[at]
            case 1:
                found.insert(chance.randrange(len(found) + 1), found[at])
            case 2:
                other = chance.randrange(len(found))
                found[at], found[other] = found[other], found[at]
            case _:
                found[at] = damaged(found[at], chance)
        if not found:
            return [b""]
    return found


def damaged(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data) + 1)
    match chance.randrange(4):
        case 0:
            return data[:at]
        case 1:
            return data[:at] + chance.choice(NASTY) + data[at:]
        case 2:
            return data[:at] + data[at + chance.choice((1, 2, 4)) :]
        case _:
            new = chance.choice((chance.choice(NASTY), bytes([chance.randrange(256)])))
            return data[:at] + new + data[at + len(new) :]


# ---------------------------------------------------------------- a decoder for comparison


class Refused(Exception):
    """The plain decoder finds a fault."""


class Plain:
    """Reads one message after the other, versions 1 without streaming. Values stay the server's texts."""

    def __init__(self) -> None:
        self.tables: dict[int, tuple[tuple[str, str], list[bool]]] = {}
        self.schemas: dict[str, set[str]] = {}
        self.names: dict[int, set[str]] = {}
        self.open: int | None = None
        self.rows: list[tuple[str, str, tuple[object, ...]]] = []

    def take(self, message: bytes) -> None:
        self.message, self.at = message, 1
        if not message:
            raise Refused("empty")
        letter = message[:1]
        if letter == b"B":
            lsn, _, _ = self.unpack(">qqI")
            if self.open is not None or lsn <= 0:
                raise Refused("a transaction in another one, or at no position")
            self.open = lsn
        elif letter == b"C":
            _, lsn, _, _ = self.unpack(">Bqqq")
            if self.open != lsn:
                raise Refused("another commit")
            self.open = None
        elif letter in (b"I", b"U", b"D"):
            self.change(letter)
        elif letter == b"R":
            self.relation()
        elif letter == b"T":
            count, _ = self.unpack(">IB")
            if len(message) != 6 + 4 * count or self.open is None:
                raise Refused("a truncation")
            if not set(self.unpack(f">{count}I")) <= set(self.tables):
                raise Refused("a truncation of an unknown table")
        else:
            raise Refused("unknown letter")
        if self.at != len(message):
            raise Refused("bytes are left")

    def unpack(self, form: str) -> tuple[int, ...]:
        size = struct.calcsize(form)
        if self.at + size > len(self.message):
            raise Refused("too short")
        found = struct.unpack_from(form, self.message, self.at)
        self.at += size
        return found

    def name(self) -> str:
        end = self.message.find(b"\0", self.at)
        if end < 0:
            raise Refused("a name without an end")
        try:
            name = self.message[self.at : end].decode()
        except UnicodeDecodeError as error:
            raise Refused("a name") from error
        self.at = end + 1
        return name

    def relation(self) -> None:
        (oid,) = self.unpack(">I")
        name, (identity,) = (self.name(), self.name()), self.unpack(">B")
        if chr(identity) not in "dnfi":
            raise Refused("an identity")
        keys, names = [], []
        for _ in range(self.unpack(">H")[0]):
            keys.append(bool(self.unpack(">B")[0] & 1))
            names.append(self.name())
            self.unpack(">Ii")
        if len(set(names)) < len(names):
            raise Refused("a name twice")
        # Another table that had the name is gone, or is described again under its new one.
        self.tables = {other: known for other, known in self.tables.items() if known[0] != name}
        self.tables[oid] = name, keys
        self.schemas.setdefault(name[1], set()).add(name[0])
        self.names.setdefault(oid, set()).add(name[1])

    def change(self, letter: bytes) -> None:
        (oid,), (kind,) = self.unpack(">I"), self.unpack(">B")
        if oid not in self.tables or self.open is None:
            raise Refused("a row of an unknown table, or outside")
        (_, name), keys = self.tables[oid]
        old = None
        if kind in b"KO" and letter != b"I":
            old = [
                cell if key or kind == ord("O") else ABSENT for cell, key in zip(self.tuple(keys), keys, strict=True)
            ]
            self.rows.append((name, "-D" if letter == b"D" else "-U", tuple(old)))
            if letter == b"U" and self.unpack(">B")[0] != ord("N"):
                raise Refused("no new row")
        elif kind != ord("N") or letter == b"D":
            raise Refused("a kind of row")
        if letter != b"D":
            new = self.tuple(keys)
            if old is not None:
                new = [other if one == ABSENT else one for one, other in zip(new, old, strict=True)]
            self.rows.append((name, KINDS[letter[0]], tuple(new)))

    def tuple(self, keys: list[bool]) -> list[object]:
        if self.unpack(">H")[0] != len(keys):
            raise Refused("columns")
        found: list[object] = []
        for _ in keys:
            tag = self.unpack(">B")[0]
            if tag == ord("t"):
                (length,) = self.unpack(">I")
                if self.at + length > len(self.message):
                    raise Refused("too long")
                found.append(self.message[self.at : self.at + length])
                self.at += length
            elif tag in b"nu":
                found.append(None if tag == ord("n") else ABSENT)
            else:
                raise Refused("a cell")
        return found


def plain_frames(data: bytes) -> list[tuple[int, int]]:
    found, at = [], 0
    while at + 5 < len(data) and data[at : at + 1] == b"d" and data[at + 5 : at + 6] in (b"w", b"k"):
        end = at + 1 + struct.unpack_from(">I", data, at + 1)[0]
        if end > len(data):
            break
        found.append((at, end))
        at = end
    return found


# ---------------------------------------------------------------- judging


def judge(messages: list[bytes], chance: random.Random) -> str:
    """``decoded`` or ``refused``; what is not right raises AssertionError."""
    plain, fault = Plain(), None
    try:
        for message in messages:
            plain.take(message)
    except Refused as error:
        fault = str(error)
    compared = not any(message[:1] and message[0] in STREAMING for message in messages)
    reader, found, refused = decoder(), [], set()
    size = chance.choice((1, 3, 1000))
    try:
        for first in range(0, len(messages), size):
            for one in reader.decode(Messages.of(messages[first : first + size])):
                if isinstance(one, TableRefused):
                    refused.add(one.path.table)
                found += all_rows([one])
    except (MalformedMessageError, HeldTooMuchError) as error:
        assert error.message
        assert not compared or fault is not None, f"refused, although it is sound: {error}"
        return "refused"
    if compared:
        # Rows of a table that was refused are passed over without a look at them.
        assert fault is None or refused, f"decoded, although it is not sound: {fault}"
        if fault is None:
            compare(plain, found, refused)
    return "table refused" if refused else "decoded"


def compare(plain: Plain, found: list[Shown], refused: set[str]) -> None:
    # The rows that are compared do not hold their schema: a name of two tables says nothing about their order.
    refused = refused.union(*(names for names in plain.names.values() if names & refused))
    twice = {name for name, schemas in plain.schemas.items() if len(schemas) > 1}
    for name in {name for name, _, _ in plain.rows} - refused - twice:
        wanted = [(kind, row) for table, kind, row in plain.rows if table == name]
        got = [(kind, tuple(map(raw, row))) for table, kind, row in found if table == name]
        assert [kind for kind, _ in got] == [kind for kind, _ in wanted], f"table {name}: kinds"
        for (_, one), (_, other) in zip(got, wanted, strict=True):
            assert all(same(mine, text) for mine, text in zip(one, other, strict=True)), f"{one} instead of {other}"


def raw(value: object) -> object:
    return value.encode() if isinstance(value, str) and value != ABSENT else value


def same(mine: object, text: object) -> bool:
    return mine == (
        int(text, 0) if isinstance(mine, int) and isinstance(text, bytes) and text.strip(b"-0") else text
    ) or (mine == 0 and isinstance(text, bytes) and not text.strip(b"-0"))


def judge_frames(data: bytes) -> str:
    found = find_frames(np.frombuffer(data + PADDING, np.uint8), 0, len(data))
    wanted = plain_frames(data)
    assert [*zip(found.starts.tolist(), found.ends.tolist(), strict=True)] == wanted, "frames"
    return "frames" if wanted and wanted[-1][1] == len(data) else "frames and a rest"


Case = tuple[list[bytes], random.Random]


def case_of(seed: int, ordinal: int) -> Case:
    """A mutated stream, and the chance that goes on to choose how it is judged."""
    chance = random.Random(f"{seed}:{ordinal}")
    return mutated(stream(chance), chance), chance


def judge_case(case: Case) -> str:
    """Judge the frames of some streams, the rows of the others."""
    messages, chance = case
    if chance.random() < 0.2:
        return judge_frames(damaged(b"".join(map(pg.xlog_data, messages * 3)), chance))
    return judge(messages, chance)


def shown(case: Case) -> str:
    return str(case[0])


CAMPAIGN = Campaign(case_of, judge_case, shown)
run = CAMPAIGN.run

if __name__ == "__main__":
    sys.exit(CAMPAIGN.main(__doc__))
