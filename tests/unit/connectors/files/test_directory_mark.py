"""The mark of a run in its target directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from seatunnel_connectors.files.storage import LocalFiles
from seatunnel_connectors.files.write.directory_mark import DirectoryMark, Owner

OWNER, OTHER = Owner("job", "sink", "t"), Owner("another job", "sink", "t")


class KilledError(Exception):
    pass


class Dying(LocalFiles):
    """A storage whose process dies while it renames a draft."""

    def rename(self, old: str, new: str) -> None:
        raise KilledError


def hidden(root: Path) -> list[str]:
    return sorted(one.name for one in (root / ".seatunnel").iterdir())


def test_the_next_run_removes_the_draft_of_one_that_was_killed(tmp_path: Path) -> None:
    """It has another mark. The draft of another job stays: that one may be writing it."""
    root = tmp_path / "out"
    for token, owner in (("00000001", OWNER), ("00000002", OTHER)):
        with pytest.raises(KilledError):
            DirectoryMark(Dying(), str(root), token).make(owner)
    assert len(hidden(root)) == 2

    mark = DirectoryMark(LocalFiles(), str(root), "00000003")
    mark.make(OWNER)

    (draft, name) = hidden(root)
    assert draft.startswith("run-00000002.json.") and name == "run-00000003.json"
    assert mark.owner == OWNER and mark.others() == []
