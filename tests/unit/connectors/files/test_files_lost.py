"""P4-F1b, P4-F6: files that are gone or changed between stage and commit, and a directory that is another one."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from files_support import LINEAGE, sink, stage
from test_files_commit import TABLE, batch, ids_in

from seatunnel_py.api import CannotResumeError, CommitContext, Piece


class Run:
    """A run into a directory, from its set-up on."""

    def __init__(
        self, path: Path, *, job: str = "job", lineage: str = LINEAGE, set_up: bool = True, **options: Any
    ) -> None:
        self.path, self.job, self.lineage = path, job, lineage
        self.sink = sink(TABLE, job=job, path=str(path), file_format_type="json", **options)
        self.setup = self.sink.plan_setup()
        if set_up:
            self.sink.setup(self.setup)

    def stage(self, data_id: str, *ids: int) -> Piece:
        return stage(self.sink, [batch(*ids)], data_id, lineage=self.lineage, setup=self.setup.data)

    def context(self, checkpoint: int, *, final: bool = False) -> CommitContext:
        return CommitContext(self.job, self.lineage, "write", checkpoint, final=final, setup=self.setup.data)

    def commit(self, checkpoint: int, *pieces: Piece, final: bool = False) -> None:
        self.sink.committer().commit(pieces, self.context(checkpoint, final=final))

    def hidden(self, pattern: str) -> list[Path]:
        return sorted((self.path / ".seatunnel").rglob(pattern))


def shortened(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def emptied(file: Path) -> None:
    file.write_bytes(b"")


def lengthened(file: Path) -> None:
    file.write_bytes(file.read_bytes() * 2)


CHANGES = [shortened, emptied, lengthened, Path.unlink]


@pytest.mark.parametrize("change", CHANGES)
def test_a_staged_file_that_was_changed_is_lost(tmp_path: Path, change: Callable[[Path], object]) -> None:
    """P4-F1b: its rows were published as they were found, and the run said SUCCESS."""
    run = Run(tmp_path / "out")
    piece = run.stage("a@", 1, 2, 3, 4)
    change(run.hidden("*.part")[0])

    with pytest.raises(CannotResumeError, match=r"LOST: the staged file .* \(4 rows\)") as lost:
        run.commit(1, piece, final=True)

    assert "--fresh" in lost.value.remedy and "delete the files of this run" in lost.value.remedy
    assert ids_in(run.path) == []


@pytest.mark.parametrize("change", CHANGES)
def test_a_collected_file_that_was_changed_is_lost(tmp_path: Path, change: Callable[[Path], object]) -> None:
    """P4-F1b: a file that is put together at the end was made of what was still there."""
    run = Run(tmp_path / "out", single_file_mode=True, file_name_expression="all")
    run.commit(1, run.stage("a@", 1, 2), run.stage("b@", 3))
    change(run.hidden("held/*.arrow")[0])

    with pytest.raises(CannotResumeError, match=r"LOST: the staged file .* \(2 rows\)"):
        run.commit(2, run.stage("c@", 4), final=True)

    assert not (run.path / "all.json").exists()


@pytest.mark.parametrize("gone", ["held", "the scope", "all that is hidden"])
def test_collected_files_that_were_removed_together_are_lost(tmp_path: Path, gone: str) -> None:
    """P4-F1b: then nothing in their directory says that there were any."""
    run = Run(tmp_path / "out", single_file_mode=True, file_name_expression="all")
    run.commit(1, run.stage("a@", 1, 2))
    held = run.hidden("held")[0]
    shutil.rmtree({"held": held, "the scope": held.parent, "all that is hidden": run.path / ".seatunnel"}[gone])

    with pytest.raises(CannotResumeError, match="LOST"):
        run.commit(2, run.stage("c@", 4), final=True)

    assert not (run.path / "all.json").exists()


@pytest.mark.parametrize("options", [{}, {"single_file_mode": True, "file_name_expression": "all"}])
@pytest.mark.parametrize("staged_elsewhere", [False, True])
@pytest.mark.parametrize("rows_follow", [False, True])
def test_a_directory_that_is_made_anew_in_the_run_is_lost(
    tmp_path: Path, rows_follow: bool, staged_elsewhere: bool, options: dict[str, Any]
) -> None:
    """P4-F6: it said SUCCESS with the files of later checkpoints only."""
    elsewhere = {"tmp_path": str(tmp_path / "tmp")} if staged_elsewhere else {}
    run = Run(tmp_path / "out", **options, **elsewhere)
    run.commit(1, run.stage("a@", 1, 2))
    shutil.rmtree(run.path)
    run.path.mkdir()
    pieces = [run.stage("b@", 3)] if rows_follow else []

    for _ in range(2):
        with pytest.raises(
            CannotResumeError, match="LOST: the directory .* was removed and created again during the run"
        ):
            run.commit(2, *pieces, final=True)


@pytest.mark.parametrize("options", [{}, {"single_file_mode": True, "file_name_expression": "all"}])
def test_a_directory_that_is_renamed_and_put_back_goes_on(tmp_path: Path, options: dict[str, Any]) -> None:
    """P4-F6: it is the same one; and the last commit may be repeated when the mark is gone already."""
    run = Run(tmp_path / "out", **options)
    run.commit(1, run.stage("a@", 1, 2))
    run.path.rename(tmp_path / "aside")
    (tmp_path / "aside").rename(run.path)
    last = run.stage("b@", 3)

    for _ in range(3):
        run.commit(2, last, final=True)

    assert ids_in(run.path) == [1, 2, 3]
    assert run.hidden("run-*") == []


def test_a_last_commit_without_rows_may_be_repeated(tmp_path: Path) -> None:
    run = Run(tmp_path / "out")
    run.commit(1, run.stage("a@", 1, 2))

    for _ in range(2):
        run.commit(2, final=True)

    assert ids_in(run.path) == [1, 2] and not (run.path / ".seatunnel").exists()


def test_what_is_given_up_takes_its_mark_along(tmp_path: Path) -> None:
    run = Run(tmp_path / "out")
    piece = run.stage("a@", 1)

    run.sink.committer().abort([piece], run.context(1, final=True))

    assert not (run.path / ".seatunnel").exists()


@pytest.mark.parametrize("options", [{}, {"single_file_mode": True, "file_name_expression": "all"}])
def test_what_an_older_version_has_set_up_goes_on(tmp_path: Path, options: dict[str, Any]) -> None:
    """It has no mark."""
    run = Run(tmp_path / "out", **options)
    object.__setattr__(run.setup, "data", {key: value for key, value in run.setup.data.items() if key != "mark"})
    run.hidden("run-*")[0].unlink()
    run.commit(1, run.stage("a@", 1, 2))

    run.commit(2, run.stage("b@", 3), final=True)

    assert ids_in(run.path) == [1, 2, 3]


def begun_anew(run: Run, **options: Any) -> list[str]:
    new = Run(run.path, lineage="lineage-2", set_up=False, **options)
    said = list(new.sink.committer().sweep(new.context(0)))
    assert list(new.sink.committer().sweep(new.context(0))) == []
    return said


@pytest.mark.parametrize("committed", [False, True])
def test_what_earlier_runs_have_staged_is_removed(tmp_path: Path, committed: bool) -> None:
    """P4-F7: by `--fresh`, which says what stays visible."""
    run = Run(tmp_path / "out")
    if committed:
        run.commit(1, run.stage("a@", 1, 2))
    run.stage("b@", 3)
    run.stage("c@", 4)

    said = begun_anew(run)

    assert said[0] == "removed 2 staged files of earlier runs"
    assert ["are visible in" in one and "delete them (rm " in one for one in said[1:]] == ([True] if committed else [])
    assert run.hidden("*.part") == [] and run.hidden("run-*") == []
    assert ids_in(run.path) == ([1, 2] if committed else [])
    if committed:
        pattern = said[1].split("(rm ")[1].split(")")[0]
        assert [file.name for file in run.path.glob(Path(pattern).name)] != []
        assert list(Run(run.path, lineage="lineage-3", data_save_mode="DROP_DATA").path.glob("*.json")) == []


def test_collected_files_of_earlier_runs_are_removed(tmp_path: Path) -> None:
    options = {"single_file_mode": True, "file_name_expression": "all"}
    run = Run(tmp_path / "out", **options)
    run.commit(1, run.stage("a@", 1, 2))
    run.stage("b@", 3)

    assert begun_anew(run, **options) == ["removed 2 staged files of earlier runs"]
    assert run.hidden("*.arrow") == []


def test_what_another_job_has_staged_there_stays(tmp_path: Path) -> None:
    """P4-F7: lineages do not say whose they are; where there is doubt nothing is removed, and that is said."""
    run, other = Run(tmp_path / "out"), Run(tmp_path / "out", job="other", lineage="theirs")
    run.stage("a@", 1)
    piece = other.stage("a@", 7)
    new = Run(run.path, lineage="lineage-2", set_up=False)

    [said] = new.sink.committer().sweep(new.context(0))
    assert "stay: job other writes there too" in said
    other.commit(1, piece, final=True)

    assert ids_in(run.path) == [7]
    assert begun_anew(run) == ["removed 1 staged file of earlier runs"]
