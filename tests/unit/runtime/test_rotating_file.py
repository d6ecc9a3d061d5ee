"""G9: a file of lines that is rotated at a size limit."""

from __future__ import annotations

import stat
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from seatunnel_py.runtime.diagnosis.rotating_file import RotatingFile
from seatunnel_py.runtime.observe import failure_timeline
from seatunnel_py.runtime.observe.rotated_files import generations

texts = st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), max_size=60), max_size=60)


@given(texts, st.integers(10, 400), st.integers(2, 4), st.integers(1, 7))
def test_the_newest_lines_are_kept_whole_and_in_order(
    lines: list[str], limit: int, kept: int, reopened_every: int
) -> None:
    """Whatever the lines are, and however often a new driver opens the file: what is on disk is the end of what was
    written, no file is larger than the limit unless one line is, and no more files are kept than were asked for."""
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "events.jsonl"
        file = RotatingFile(path, limit, kept)
        for number, line in enumerate(lines):
            if number % reopened_every == 0:
                file.close()
                file = RotatingFile(path, limit, kept)
            file.write(line + "\n")
        file.close()

        found = generations(path)
        assert len(found) <= kept and {one.name for one in Path(place).iterdir()} == {one.name for one in found}
        parts = [one.read_bytes() for one in found]
        assert all(len(part) <= limit or part.count(b"\n") == 1 for part in parts)
        text = b"".join(parts)
        assert "".join(line + "\n" for line in lines).encode().endswith(text)
        assert text or not lines
        assert all(stat.S_IMODE(one.stat().st_mode) == 0o600 for one in found)


def test_a_reader_of_an_older_generation_reads_on(tmp_path: Path) -> None:
    """Its name stays until it is deleted."""
    path = tmp_path / "events.jsonl"
    file = RotatingFile(path, 20, 3)
    file.write("first generation\n")
    with path.open() as reader:
        file.write("second generation\n")
        assert reader.read() == "first generation\n"
    file.write("third generation\n")
    file.close()

    assert [one.name for one in generations(path)] == ["events-000001.jsonl", "events-000002.jsonl", "events.jsonl"]


def test_failures_are_read_from_all_generations(tmp_path: Path) -> None:
    """`jobs show` would forget failures at the rotation."""
    path = tmp_path / "events.jsonl"
    file = RotatingFile(path, 200, 4)
    for number in range(3):
        file.write(
            f'{{"time": "2026-01-0{number + 1}T00:00:00Z", "level": "WARNING", "event": "store_away", "driver": 1, '
            f'"message": "outage {number}"}}\n'
        )
    file.close()

    assert len(generations(path)) == 3
    assert [one.cause for one in failure_timeline.read(path, alive=True).failures] == [f"outage {n}" for n in range(3)]
