"""P4-F4: what holds rows or states is for its owner alone, whatever the umask, and wherever it lies."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyarrow import fs

from seatunnel_py.api import make_private_file, private_directory, private_output
from seatunnel_py.api.process.private_files import make_private


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(params=[0o000, 0o022])
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


@pytest.mark.usefixtures("umask")
def test_what_is_made_is_private_and_what_is_there_keeps_its_mode(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o775)

    private_directory(fs.LocalFileSystem(), str(shared / "a" / "b"))
    make_private(shared / "a" / "b")
    with private_output(fs.LocalFileSystem(), str(shared / "a" / "b" / "rows")) as out:
        assert mode(shared / "a" / "b" / "rows") == 0o600, "before the first byte"
        out.write(b"1")
    make_private_file(str(shared / "c" / "state.db"))

    assert [mode(path) for path in (shared, shared / "a", shared / "a" / "b", shared / "c")] == [0o775, *[0o700] * 3]
    assert (shared / "a/b/rows").read_bytes() == b"1"
    assert mode(shared / "c/state.db") == 0o600


def test_a_file_in_the_place_of_a_directory_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(FileExistsError):
        make_private(tmp_path / "file")
    with pytest.raises(OSError, match="."):
        make_private(tmp_path / "file" / "below")


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "other")
    with pytest.raises(OSError, match="symbolic"):
        private_output(fs.LocalFileSystem(), str(tmp_path / "link"))
