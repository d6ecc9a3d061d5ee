"""The journal of a pack: what it holds after a kill."""

from __future__ import annotations

from pathlib import Path

import pytest

from seatunnel_py.work.pack_journal import PackJournal, PackJournalWriter, read_journal
from seatunnel_py.work.unit import UnitId, UnitResult

FIRST, SECOND = UnitId("v", 0), UnitId("v", 1)


def filled(path: Path) -> Path:
    writer = PackJournalWriter(path)
    writer.started(FIRST)
    writer.finished(UnitResult(FIRST, rows=7))
    writer.started(SECOND)
    writer.close()
    return path


def test_it_tells_which_units_began_and_which_ended(tmp_path: Path) -> None:
    """The one that began and did not end is the suspect."""
    journal = read_journal(filled(tmp_path / "pack"))

    assert journal == PackJournal((FIRST, SECOND), (UnitResult(FIRST, rows=7),))


def test_a_journal_that_was_never_begun_is_empty(tmp_path: Path) -> None:
    """A worker may die before its first line."""
    assert read_journal(tmp_path / "none") == PackJournal()


def test_a_torn_tail_is_ignored_wherever_it_is_torn(tmp_path: Path) -> None:
    """Cut at any byte, the lines before the cut are what they were and nothing else is read."""
    whole = filled(tmp_path / "pack").read_bytes()
    ends = [place + 1 for place, byte in enumerate(whole) if byte == ord("\n")]
    for length in range(len(whole)):
        (tmp_path / "torn").write_bytes(whole[:length])
        journal = read_journal(tmp_path / "torn")

        # A line that lacks only its line feed is whole: length and checksum say so.
        lines = sum(end - 1 <= length for end in ends)
        assert len(journal.started) + len(journal.results) == lines


def test_what_follows_a_damaged_line_is_not_believed(tmp_path: Path) -> None:
    """After a line that does not match its checksum nothing says where the next one begins."""
    damaged = bytearray(filled(tmp_path / "pack").read_bytes())
    damaged[30] ^= 1
    (tmp_path / "damaged").write_bytes(damaged)

    assert read_journal(tmp_path / "damaged") == PackJournal()


def test_a_pack_has_one_journal(tmp_path: Path) -> None:
    """A second worker with the same pack is refused: its units would be applied twice."""
    filled(tmp_path / "pack")

    with pytest.raises(FileExistsError):
        PackJournalWriter(tmp_path / "pack")
