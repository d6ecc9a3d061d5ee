"""The journal: what a driver wrote is what the next one reads, whatever happened in between."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seatunnel_py.api import Split, TablePath
from seatunnel_py.errors import FatalError
from seatunnel_py.protocol.model.ids import Channel, Subtask
from seatunnel_py.protocol.model.records import CheckpointRecord, RecordKind
from seatunnel_py.protocol.model.stream_elements import SubtaskSnapshot, TakenInput
from seatunnel_py.protocol.model.topology import Topology, Vertex
from seatunnel_py.runtime.storage import journal
from seatunnel_py.runtime.storage.checkpoint_store import StoreError
from seatunnel_py.runtime.storage.checksum_seal import sealed
from seatunnel_py.runtime.storage.journal import (
    Journal,
    JournalFile,
    done_line,
    dropped_line,
    emptied_line,
    found_line,
    graph_line,
    kept_line,
    record_line,
    reset_line,
    taken_line,
    void_line,
)
from seatunnel_py.runtime.storage.local_storage import LocalStorage
from seatunnel_py.runtime.values.split_progress import SplitRound

A, B = Subtask("a"), Subtask("b", 1)
WAY = Channel(2, A, B)
SPLIT = Split("s7", TablePath.parse("db.x"), {"from": 3}, rows=5)

subtasks = st.sampled_from([A, B])
pipelines = st.sampled_from(["x", "y#2", "ü"])
entries = st.builds(
    TakenInput, st.integers(1, 9), st.none(), st.just(0), st.lists(st.none() | st.integers() | st.text(max_size=5))
) | st.builds(TakenInput, st.integers(1, 9), st.just(WAY), st.integers(1, 99))
lines = st.one_of(
    st.builds(taken_line, pipelines, subtasks, entries),
    st.builds(done_line, pipelines, st.sampled_from(["s/0", "t/0"])),
    st.builds(dropped_line, pipelines),
    st.builds(reset_line, pipelines, begins=st.booleans()),
    st.builds(emptied_line, pipelines),
    st.builds(graph_line, pipelines, st.sampled_from(["g", "h"]), st.sampled_from(["", "2"])),
    st.builds(void_line, pipelines, st.lists(st.integers(1, 9), min_size=1), st.integers(0, 9)),
    st.builds(kept_line, pipelines, subtasks, st.integers(1, 9), st.integers(0, 9), st.sampled_from(["1.2", "3.4"])),
    st.builds(
        found_line, pipelines, st.sampled_from("ab"), st.integers(1, 4), st.builds(SplitRound, st.just((SPLIT,)))
    ),
)


def journal_of(written: Sequence[Mapping[str, Any]]) -> Journal:
    journal = Journal()
    for line in written:
        journal.apply(line)
    return journal


def meaning(journal: Journal) -> Any:
    """What a driver asks it for."""
    found = {key: rounds for key, rounds in journal.found.items() if rounds}
    taken = {key: mine for key, mine in journal.taken.items() if mine}
    void = {key: mine for key, mine in journal.void_records.items() if mine}
    return (taken, journal.done, journal.dropped, *filter(None, [found, void, journal.resets, journal.emptied]))


def place(directory: Path, incarnation: int) -> Path:
    """Where that driver's first file is."""
    return directory / "journal" / f"{incarnation:08}-00000001"


def begun(directory: Path, incarnation: int, *written: Mapping[str, Any]) -> JournalFile:
    """The file of a driver that has written these lines, and has died."""
    file = JournalFile(LocalStorage(directory), incarnation)
    file.append(written)
    file.close()
    return file


def read(directory: Path, incarnation: int) -> Any:
    file = JournalFile(LocalStorage(directory), incarnation)
    file.close()
    return meaning(file.journal)


def test_the_first_driver_finds_nothing(tmp_path: Path) -> None:
    assert read(tmp_path / "journal", 1) == ({}, {}, set())


@given(st.lists(st.lists(lines, max_size=6), max_size=4))
@settings(max_examples=40)
def test_a_driver_takes_over_what_counts(
    tmp_path_factory: pytest.TempPathFactory, drivers: list[list[Mapping[str, Any]]]
) -> None:
    """From driver to driver, with numbers left out where one of them wrote nothing; one file is left at the end."""
    directory = tmp_path_factory.mktemp("journal")
    for number, written in enumerate(drivers):
        begun(directory, 1 + 2 * number, *written)

    assert read(directory, 99) == meaning(journal_of([line for written in drivers for line in written]))
    assert list((directory / "journal").iterdir()) == [place(directory, 99)]


@given(st.lists(lines, max_size=12))
def test_a_journal_is_made_of_its_own_lines(written: list[Mapping[str, Any]]) -> None:
    journal = journal_of(written)

    again = journal_of(list(journal.lines()))
    assert meaning(again) == meaning(journal)
    assert (again.graphs, again.numberings) == (journal.graphs, journal.numberings)


@given(st.lists(lines, min_size=1, max_size=5), st.data())
@settings(max_examples=60)
def test_a_torn_tail_ends_the_file(
    tmp_path_factory: pytest.TempPathFactory, written: list[Mapping[str, Any]], data: st.DataObject
) -> None:
    """What was cut counts as far as whole lines go; never is anything else read."""
    directory = tmp_path_factory.mktemp("journal")
    begun(directory, 1)
    whole_before = place(directory, 1).stat().st_size
    begun(directory, 2, *written)
    (file,) = (directory / "journal").iterdir()
    size = data.draw(st.integers(whole_before, file.stat().st_size))
    kept = file.read_bytes()[:size]
    file.write_bytes(kept)
    told = max(0, len(kept[whole_before:].splitlines()) - (not kept.endswith(b"\n")))

    found = read(directory, 3)

    possible = [meaning(journal_of(written[:number])) for number in (told, told + 1)]
    assert found in possible


@given(st.lists(lines, max_size=20))
def test_a_pipeline_that_starts_from_nothing_has_no_record(written: list[Mapping[str, Any]]) -> None:
    """Else a log whose only record was given up would be planned for tables that the job no longer has."""
    found = journal_of(written)
    record = CheckpointRecord(1, 1, RecordKind.ZERO, 0, Topology((Vertex("a"),), ()), {}, {})
    assert set(found.resumed({"x": record, "y#2": record})) == {"x", "y#2"} - found.dropped


def test_a_changed_line_is_refused_by_name(tmp_path: Path) -> None:
    """What stands behind it was acted upon: to end the file there forgets it without a word."""
    begun(tmp_path, 1, *(taken_line("x", A, TakenInput(number)) for number in (1, 2, 3)))
    file = place(tmp_path, 1)
    changed = file.read_bytes().splitlines(keepends=True)
    changed[2] = changed[2].replace(b'"n":2', b'"n":7')
    file.write_bytes(b"".join(changed))

    with pytest.raises(StoreError, match=f"{file.name} is damaged: the checksum of line 3 is wrong"):
        read(tmp_path, 2)


@given(st.lists(lines, min_size=1, max_size=5), st.data())
@settings(max_examples=150)
def test_a_damaged_journal_is_refused_or_reads_the_same(
    tmp_path_factory: pytest.TempPathFactory, written: list[Mapping[str, Any]], data: st.DataObject
) -> None:
    """P4-F1: a bit flipped, a line gone, there twice, or at the place of another; the name of another file."""
    directory = tmp_path_factory.mktemp("journal")
    begun(directory, 1, *written)
    file = place(directory, 1)
    whole = file.read_bytes()
    each = whole.splitlines(keepends=True)
    at, other = data.draw(st.integers(0, len(each) - 2)), data.draw(st.integers(0, len(each) - 1))
    bit = data.draw(st.integers(0, len(whole) * 8 - 1))
    flipped = whole[: bit // 8] + bytes([whole[bit // 8] ^ 1 << bit % 8]) + whole[bit // 8 + 1 :]
    swapped = [*each]
    swapped[at], swapped[other] = each[other], each[at]
    kinds = [flipped, b"".join(each[:at] + each[at + 1 :]), whole + whole, b"".join(swapped)]
    file.write_bytes(data.draw(st.sampled_from(kinds)))

    try:
        found = journal.newest(LocalStorage(directory), 2)
    except StoreError as refused:
        assert str(file) in refused.message
    else:
        assert found in ((1, journal_of(written)), (0, Journal())), "0: its own record of being begun is gone"


def test_a_file_under_another_name_is_refused(tmp_path: Path) -> None:
    begun(tmp_path, 1, taken_line("x", A, TakenInput(1)))
    place(tmp_path, 1).rename(place(tmp_path, 2))

    with pytest.raises(StoreError, match="00000002-00000001 is damaged"):
        read(tmp_path, 3)


def test_p4_f1_a_file_of_the_old_form_is_read_where_its_driver_was_old(tmp_path: Path) -> None:
    """Of the first releases, whose lines had no numbers; under a driver of this one it is damaged."""
    old = [taken_line("x", A, TakenInput(1)), {"complete": True}, done_line("x", "s/0")]
    text = b"".join(b"%08x %s\n" % (crc32(body), body) for body in (json.dumps(line).encode() for line in old))
    storage = LocalStorage(tmp_path)
    storage.append("journal/00000001-00000001", text)
    storage.append("incarnations/00000001", b"0123456789abcdef" * 2)
    assert read(tmp_path, 2) == ({("x", A): {1: TakenInput(1)}}, {"x": {"s/0"}}, set())

    storage.append("journal/00000003-00000001", text)
    storage.append("incarnations/00000003", sealed("incarnations/00000003", b"lineage"))
    with pytest.raises(StoreError, match="00000003-00000001 is damaged"):
        read(tmp_path, 4)


def test_p4_f1_the_journal_says_which_records_were_durable(tmp_path: Path) -> None:
    """The newest of each pipeline, over drivers and files."""
    file = begun(tmp_path, 1)
    file.mark({"x": record_of(1), "y": replace(record_of(1), checkpoint=4)})
    file.mark({"x": replace(record_of(1), checkpoint=2)})
    file.rewrite([])
    file.close()
    begun(tmp_path, 2)

    assert journal.newest(LocalStorage(tmp_path), 3)[1].marks == {"x": 2, "y": 4}


def test_a_full_disk_leaves_no_half_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written once there is room again would stand behind it."""
    file = begun(tmp_path, 1)
    write = os.write

    def half(descriptor: int, data: bytes) -> int:
        write(descriptor, bytes(data[:5]))
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr(os, "write", half)
        with pytest.raises(FatalError, match="No space"):
            file.append([done_line("x", "s/0")])
    file.append([done_line("x", "t/0")])
    file.close()

    assert read(tmp_path, 2)[1] == {"x": {"t/0"}}


def test_the_half_begun_file_of_a_dead_driver_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It died before it had taken everything over: the older file still counts, and is still there."""
    begun(tmp_path, 1, *(taken_line("x", A, TakenInput(number)) for number in (1, 2, 3)))
    whole = place(tmp_path, 1).read_bytes()
    begun(tmp_path, 2)
    half = place(tmp_path, 2).read_bytes()
    for size in range(len(half)):
        place(tmp_path, 1).write_bytes(whole)
        place(tmp_path, 2).write_bytes(half[:size])

        assert journal.newest(LocalStorage(tmp_path), 3)[1].taken == {
            ("x", A): {1: TakenInput(1), 2: TakenInput(2), 3: TakenInput(3)}
        }


def test_a_driver_that_dies_while_it_takes_over_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun(tmp_path, 1, taken_line("x", A, TakenInput(1)))

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as dying:
        dying.setattr(os, "write", full)
        with pytest.raises(FatalError, match="No space"):
            JournalFile(LocalStorage(tmp_path), 2)

    assert read(tmp_path, 3) == ({("x", A): {1: TakenInput(1)}}, {}, set())


def test_an_overtaken_driver_can_write_what_it_likes(tmp_path: Path) -> None:
    """Its file was read and is gone; a later driver does not see it either."""
    old = JournalFile(LocalStorage(tmp_path), 1)
    old.append([taken_line("x", A, TakenInput(1))])
    new = JournalFile(LocalStorage(tmp_path), 2)
    old.append([taken_line("x", A, TakenInput(2)), dropped_line("x")])
    new.append([taken_line("x", A, TakenInput(2, range=["s0", 1]))])
    old.close()
    new.close()

    assert read(tmp_path, 3) == ({("x", A): {1: TakenInput(1), 2: TakenInput(2, range=["s0", 1])}}, {}, set())


def test_an_overtaken_driver_that_begins_late_is_not_heard(tmp_path: Path) -> None:
    """It took its number first, and its file second: a newer driver was faster."""
    begun(tmp_path, 1, taken_line("x", A, TakenInput(1)))
    begun(tmp_path, 3, taken_line("x", A, TakenInput(2)))
    begun(tmp_path, 2, taken_line("x", A, TakenInput(7)))

    assert read(tmp_path, 4) == ({("x", A): {1: TakenInput(1), 2: TakenInput(2)}}, {}, set())


def test_entries_that_are_void_are_gone_for_all_drivers(tmp_path: Path) -> None:
    """Of this subtask of this pipeline; the number is then given anew."""
    for_all = [taken_line(name, who, TakenInput(number)) for name in "xy" for who in (A, B) for number in (1, 2, 3, 4)]
    begun(tmp_path, 1, *for_all, kept_line("x", A, 2, 3, "1.2"), taken_line("x", A, TakenInput(4, range=["again"])))

    taken, _, _ = read(tmp_path, 2)

    assert taken["x", A] == {2: TakenInput(2), 3: TakenInput(3), 4: TakenInput(4, range=["again"])}
    assert all(len(mine) == 4 for key, mine in taken.items() if key != ("x", A))


def test_what_numbers_are_called_outlives_the_driver(tmp_path: Path) -> None:
    """A target that has seen batch 7 must not take what is called so since for it; another graph begins anew."""
    begun(tmp_path, 1, *(kept_line("x", who, 1, 0, name) for who, name in [(A, "1.2"), (B, "1.2"), (A, "1.3")]))
    file = begun(tmp_path, 2)
    assert file.journal.numberings == {("x", A): "1.3", ("x", B): "1.2"}

    begun(tmp_path, 3, graph_line("x", "other", "3"))
    assert begun(tmp_path, 4).journal.numberings == {}


def test_set_up_is_done_once_for_all_drivers(tmp_path: Path) -> None:
    begun(tmp_path, 1, done_line("x", "s/0"), done_line("x", "t/0"), done_line("y", "s/0"))

    assert read(tmp_path, 2) == ({}, {"x": {"s/0", "t/0"}, "y": {"s/0"}}, set())


def test_a_pipeline_whose_rows_were_taken_back_is_set_up_anew(tmp_path: Path) -> None:
    """It begins from nothing, until it has begun: other pipelines are not concerned."""
    begun(tmp_path, 1, done_line("x", "s/0"), done_line("y", "s/0"), dropped_line("x"))
    assert read(tmp_path, 2) == ({}, {"y": {"s/0"}}, {"x"})

    begun(tmp_path, 3, done_line("x", "s/0"))
    assert read(tmp_path, 4) == ({}, {"x": {"s/0"}, "y": {"s/0"}}, set())


def test_what_units_took_of_rows_that_were_taken_back_is_worth_nothing(tmp_path: Path) -> None:
    """The next run begins anew, with splits and numbers of its own."""
    begun(tmp_path, 1, taken_line("x", A, TakenInput(1)), taken_line("y", A, TakenInput(1)), dropped_line("x"))

    assert read(tmp_path, 2) == ({("y", A): {1: TakenInput(1)}}, {}, {"x"})


def test_nobody_else_can_read_it(tmp_path: Path) -> None:
    """Positions may hold values of keys (S14)."""
    begun(tmp_path, 1)

    assert (tmp_path / "journal").stat().st_mode & 0o777 == 0o700
    assert place(tmp_path, 1).stat().st_mode & 0o777 == 0o600


# ---------------------------------------------------------------- streams


def record_of(taken: int) -> CheckpointRecord:
    snapshots = {A: SubtaskSnapshot(taken=taken), B: SubtaskSnapshot(taken=0)}
    return CheckpointRecord(1, 1, RecordKind.PERIODIC, 0, Topology((Vertex("a"), Vertex("b"))), {}, snapshots)


def test_what_a_record_holds_is_forgotten(tmp_path: Path) -> None:
    """Of each subtask as far as its snapshot goes; other pipelines are not concerned."""
    written = [taken_line(name, who, TakenInput(number)) for name in "xy" for who in (A, B) for number in (1, 2, 3)]
    journal = journal_of(written)
    journal.forget("x", record_of(2))

    assert {key: set(mine) for key, mine in journal.taken.items()} == {
        ("x", A): {3}, ("x", B): {1, 2, 3}, ("y", A): {1, 2, 3}, ("y", B): {1, 2, 3},
    }  # fmt: skip


def test_a_void_record_is_known_until_a_newer_one_is_durable() -> None:
    """PS3: a mark that was written before is taken back."""
    journal = journal_of([record_line("x", 4), record_line("x", 6), void_line("x", [5, 6], 4)])

    assert journal.marks == {"x": 4}
    assert [number for number in range(9) if journal.is_void("x", number)] == [5, 6]
    assert not journal.is_void("y", 6)
    journal.forget("x", replace(record_of(0), checkpoint=6))
    assert [number for number in range(9) if journal.is_void("x", number)] == [6]


def test_the_journal_of_a_stream_stays_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long it runs; and at every moment the next driver reads what counts."""
    monkeypatch.setattr(journal, "ROTATE_BYTES", 5_000)
    file = JournalFile(LocalStorage(tmp_path), 1)
    longest = 0
    for number in range(1, 2_001):
        if file.is_long:
            file.rewrite(list(file.journal.lines()))
        line = taken_line("x", A, TakenInput(number, range=["split", number]))
        file.append([line])
        file.journal.apply(line)
        if number % 50 == 0:
            file.journal.forget("x", record_of(number - 10))
        longest = max(longest, sum(each.stat().st_size for each in (tmp_path / "journal").iterdir()))
        if number % 333 == 0:
            found = journal.newest(LocalStorage(tmp_path), 2)[1]
            found.forget("x", record_of(number // 50 * 50 - 10))
            assert meaning(found) == meaning(file.journal)
    file.close()

    assert longest < 40_000, "a line is 50 bytes"


def test_a_driver_that_dies_while_it_begins_anew_loses_nothing(tmp_path: Path) -> None:
    """The file before counts until the new one is complete."""
    file = JournalFile(LocalStorage(tmp_path), 1)
    line = taken_line("x", A, TakenInput(1))
    file.append([line])
    file.journal.apply(line)
    before = place(tmp_path, 1).read_bytes()
    file.rewrite(list(file.journal.lines()))
    file.close()
    second = place(tmp_path, 1).with_name("00000001-00000002")
    whole = second.read_bytes()

    for size in range(len(whole) + 1):
        place(tmp_path, 1).write_bytes(before)
        second.write_bytes(whole[:size])
        assert meaning(journal.newest(LocalStorage(tmp_path), 2)[1]) == meaning(file.journal)


def test_what_arrived_although_nobody_heard_so_says_the_same_twice(tmp_path: Path) -> None:
    """A storage that is away is waited for (``retrying_storage.py``): the same lines may be written again."""
    storage = LocalStorage(tmp_path)
    file = JournalFile(storage, 1)
    lines = [
        taken_line("x", A, TakenInput(1)),
        kept_line("x", A, 1, 0, "1.2"),
        taken_line("x", A, TakenInput(1, range=["again"])),
    ]
    for _ in range(2):
        file.append(lines)
    file.close()

    assert read(tmp_path, 2)[0]["x", A][1] == TakenInput(1, range=["again"])
