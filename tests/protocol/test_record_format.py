"""Records as bytes: the way there and back, and everything that is refused on the way back."""

from __future__ import annotations

import hashlib
import json
import pickle
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seatunnel_py.protocol.encoding.record_format import (
    MIGRATIONS,
    Damage,
    RecordRefusedError,
    decode,
    encode,
    encode_plan,
    from_plain,
    to_plain,
)
from seatunnel_py.protocol.model.errors import LocalProtocolError, ProtocolError
from seatunnel_py.protocol.model.ids import Channel, Subtask
from seatunnel_py.protocol.model.records import RECORD_VERSION, CheckpointRecord, CommitRecord, RecordKind
from seatunnel_py.protocol.model.stream_elements import BatchHandle, Plain, StagedPiece, SubtaskSnapshot
from seatunnel_py.protocol.model.topology import Topology

A, K = Subtask("A"), Subtask("K", 1)
AK = Channel(0, A, K)
RECORD = CheckpointRecord(
    checkpoint=7,
    incarnation=2,
    kind=RecordKind.SAVEPOINT,
    previous=6,
    topology=Topology((), version=3, detached=frozenset({"L", "M"})),
    epochs={"A": 1, "K": 4},
    snapshots={
        A: SubtaskSnapshot({"assigned": {"s": 5}}, sent={AK: 9}, taken=9, ended=True),
        K: SubtaskSnapshot(
            None, applied={AK: 7}, channel_state={AK: (BatchHandle(8, 2, 1 << 100, "x"), BatchHandle(9))},
            pieces=(StagedPiece("p", {"rows": 3}),), since=5,
        ),
    },
    uncommitted=(CommitRecord("K", 6, (StagedPiece("o"),)), CommitRecord("K", 7, (StagedPiece("p", {"rows": 3}),))),
    name="before the move",
    set_up=frozenset({"t"}),
    plan=[1.5, True, None, "ü\ud800"],
)  # fmt: skip
TEXT = encode(RECORD)
BODY = TEXT.partition(b"\n")[2]

texts = st.text(max_size=5)
numbers = st.integers(0, 9)
plains: st.SearchStrategy[Plain] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
subtasks = st.builds(Subtask, texts, numbers)
channels = st.builds(Channel, numbers, subtasks, subtasks)
pieces = st.lists(st.builds(StagedPiece, texts, plains), max_size=2).map(tuple)
batches = st.lists(st.builds(BatchHandle, numbers, numbers, st.integers(), plains), max_size=2).map(tuple)
snapshots = st.builds(
    SubtaskSnapshot,
    plains,
    st.dictionaries(channels, numbers, max_size=2),
    st.dictionaries(channels, numbers, max_size=2),
    st.dictionaries(channels, batches, max_size=2),
    pieces,
    numbers,
    numbers,
    st.booleans(),
)
records = st.builds(
    CheckpointRecord,
    numbers,
    numbers,
    st.sampled_from(RecordKind),
    numbers,
    st.builds(Topology, st.just(()), st.just(()), numbers, st.frozensets(texts, max_size=2)),
    st.dictionaries(texts, numbers, max_size=2),
    st.dictionaries(subtasks, snapshots, max_size=3),
    st.lists(st.builds(CommitRecord, texts, numbers, pieces), max_size=2).map(tuple),
    texts,
    st.frozensets(texts, max_size=2),
    plains,
)


@given(records)
@settings(deadline=None)
def test_a_record_survives_the_way_to_bytes_and_back(record: CheckpointRecord) -> None:
    """And its bytes are canonical: those of what came back are the same (RF3)."""
    data = encode(record)

    assert decode(data) == record
    assert encode(decode(data)) == encode(record, encode_plan(record.plan)) == data
    assert from_plain(to_plain(record)) == record


def test_the_order_in_which_a_record_was_put_together_does_not_show() -> None:
    """Canonical bytes (RF3)."""
    turned = replace(
        RECORD,
        epochs=dict(reversed(RECORD.epochs.items())),
        snapshots=dict(reversed(RECORD.snapshots.items())),
        topology=Topology((), version=3, detached=frozenset({"M", "L"})),
    )

    assert encode(turned) == TEXT


def test_a_word_of_an_enumeration_is_text() -> None:
    """What looks quickly for plain values must not refuse those that are plain by descent."""
    assert decode(encode(replace(RECORD, plan=[RecordKind.ZERO]))).plan == [RecordKind.ZERO.value]


def test_a_sequence_inside_a_state_comes_back_as_a_list() -> None:
    """JSON knows one kind of sequence (RF5)."""
    assert decode(encode(replace(RECORD, plan=(1, (2,))))).plan == [1, [2]]


@given(st.integers(0, len(TEXT) * 8 - 1))
@settings(max_examples=400, deadline=None)
def test_f24_no_bit_changes_unnoticed(bit: int) -> None:
    """Whichever it is, in head or body."""
    flipped = bytearray(TEXT)
    flipped[bit // 8] ^= 1 << bit % 8

    with pytest.raises(RecordRefusedError):
        decode(bytes(flipped))


@pytest.mark.parametrize("length", range(0, len(TEXT), 7))
def test_f24_a_torn_record_is_refused(length: int) -> None:
    """Wherever it was torn off."""
    with pytest.raises(RecordRefusedError) as refused:
        decode(TEXT[:length])

    assert refused.value.damage in (Damage.NO_RECORD, Damage.TRUNCATED)


def sealed(body: bytes, version: int = 1) -> bytes:
    """Bytes whose head is right, whatever they hold."""
    checksum = hashlib.sha256(b"%d\n%s" % (version, body)).hexdigest()
    return f"seatunnel-checkpoint {version} {len(body)} {checksum}\n".encode() + body


@pytest.mark.parametrize(
    ("data", "damage", "text"),
    [
        (b"", Damage.NO_RECORD, "this is not a checkpoint record"),
        (b"hello\n", Damage.NO_RECORD, "this is not a checkpoint record"),
        (b"a b c d\n", Damage.NO_RECORD, "this is not a checkpoint record"),
        (b"seatunnel-checkpoint 1 2\n{}", Damage.NO_RECORD, "this is not a checkpoint record"),
        (b"seatunnel-checkpoint 0 0 a\n", Damage.NO_RECORD, "this is not a checkpoint record"),
        (b"seatunnel-checkpoint " + b"9" * 5000 + b" 0 a\n", Damage.NO_RECORD, "this is not a checkpoint record"),
        (TEXT + b"\n", Damage.TRUNCATED, f"its length is not the recorded one: there are {len(BODY) + 1} bytes"),
        (TEXT[:-1] + b" ", Damage.CHECKSUM, "its checksum is wrong"),
        (TEXT.replace(b"seatunnel-checkpoint 1", b"seatunnel-checkpoint 2"), Damage.CHECKSUM, "its checksum is wrong"),
        (sealed(b"{}", 2), Damage.VERSION, "its version is not known to this release: it is of version 2, this release writes 1"),
        (sealed(b"[]"), Damage.CONTENT, "its content is not that of a checkpoint record: [] is not of the type dict"),
        (sealed(b"{"), Damage.CONTENT, None),
        (sealed(b"\xff"), Damage.CONTENT, None),
        (sealed(b"[" * 100_000), Damage.CONTENT, None),
    ],
)  # fmt: skip
def test_f24_what_is_wrong_is_said(data: bytes, damage: Damage, text: str | None) -> None:
    """The kind for programs, the words for people."""
    with pytest.raises(RecordRefusedError) as refused:
        decode(data)

    assert refused.value.damage is damage
    assert isinstance(refused.value, ProtocolError)
    if text is not None:
        assert str(refused.value) == text


def content() -> dict[str, Plain]:
    data = json.loads(json.dumps(to_plain(RECORD)))
    assert isinstance(data, dict)
    return data


@pytest.mark.parametrize("field", sorted(to_plain(RECORD)))
def test_f24_a_record_without_one_of_its_fields_is_refused(field: str) -> None:
    """Nothing is read in part (RF2)."""
    data = content()
    del data[field]

    with pytest.raises(RecordRefusedError, match="its content is not that of a checkpoint record"):
        decode(sealed(json.dumps(data).encode()))


@pytest.mark.parametrize("field", sorted(to_plain(RECORD).keys() - {"plan"}))
def test_f24_a_field_of_another_type_is_refused(field: str) -> None:
    """A flag is no number either, though Python thinks so."""
    with pytest.raises(RecordRefusedError, match="its content is not that of a checkpoint record"):
        from_plain({**content(), field: True})


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"more": 1}, "ValueError: 'more' is not known"),
        ({"kind": "guess"}, "ValueError: 'guess' is not a valid RecordKind"),
        ({"uncommitted": [["K", 1]]}, "ValueError: 2 values instead of 3"),
        ({"uncommitted": [["K", 1, [], "more"]]}, "ValueError: 4 values instead of 3"),
        ({"snapshots": [["K", 1, {"state": 1, "colour": 2}]]}, "ValueError: 'colour' is not known"),
        ({"snapshots": [["K", 1, {}]]}, "KeyError: 'state'"),
    ],
)
def test_f24_other_shapes_are_refused(change: Mapping[str, Plain], text: str) -> None:
    """What is not known today would be lost tomorrow."""
    with pytest.raises(RecordRefusedError) as refused:
        from_plain({**content(), **change})

    assert refused.value.detail == text


@pytest.mark.parametrize(
    ("plan", "text"),
    [
        (float("nan"), "Out of range float values are not JSON compliant"),
        ([float("inf")], "Out of range float values are not JSON compliant"),
        ({1: "one"}, "1 is a key, but not text"),
        ([{"a": {1}}], "set is not plain data"),
        (b"bytes", "bytes is not plain data"),
    ],
)
def test_what_json_cannot_carry_is_not_written(plan: Plain, text: str) -> None:
    """It would come back as something else, or not at all (RF5)."""
    with pytest.raises(LocalProtocolError, match=f"checkpoint 7 cannot be written: {text}"):
        encode(replace(RECORD, plan=plan))


def test_a_state_without_an_end_is_not_written() -> None:
    """Nor one too deep to be read again."""
    endless: list[Plain] = []
    endless.append(endless)

    with pytest.raises(LocalProtocolError, match="cannot be written"):
        encode(replace(RECORD, plan=endless))


def test_f63_an_older_version_is_brought_up_step_by_step() -> None:
    """Two releases ago there was no name, and the plan was called otherwise."""
    data = content()
    del data["name"]
    old = sealed(json.dumps({**data, "scheme": data.pop("plan"), "version": 1}).encode(), 1)
    migrations = {
        1: lambda data: {**data, "name": "unnamed"},
        2: lambda data: {**{key: one for key, one in data.items() if key != "scheme"}, "plan": data["scheme"]},
    }

    assert decode(old, migrations, 3) == replace(RECORD, name="unnamed", version=3)


@pytest.mark.parametrize(("steps", "version"), [({}, 2), ({1: dict}, 3), ({2: dict}, 3), ({1: dict}, 0)])
def test_f63_a_version_that_cannot_be_brought_up_is_refused(
    steps: dict[int, type[dict[str, Plain]]], version: int
) -> None:
    """No step may be missing, and none leads back."""
    with pytest.raises(RecordRefusedError) as refused:
        decode(TEXT, steps, version)

    assert refused.value.damage is Damage.VERSION


def test_every_version_before_this_one_has_a_step() -> None:
    """A release that changes the format says how to read what was written before it."""
    assert sorted(MIGRATIONS) == list(range(1, RECORD_VERSION))


def test_a_refusal_travels() -> None:
    """Errors are picklable."""
    error = pickle.loads(pickle.dumps(RecordRefusedError(Damage.CHECKSUM, "x")))

    assert (error.damage, error.detail, str(error)) == (Damage.CHECKSUM, "x", "its checksum is wrong: x")
