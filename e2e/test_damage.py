"""The damage fuzz in its short form (``make damage``), and the smallest repeats of what it is made for."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.crash_sweep.place import Lane
from e2e.damage.cases import Verdict, case, restored
from e2e.damage.recipes import LOCAL
from e2e.damage.scenarios import Scenario, scenario
from seatunnel_py import app
from seatunnel_py.errors import JobFileError, Problem, SeaTunnelError

CHAINS = (("worker.stage.after@4",), ("driver.record.durable", "driver.commit.before"))
CASES = 40


@pytest.fixture(scope="module")
def lane() -> Iterator[Lane]:
    found = Lane()
    yield found
    found.close()


@pytest.fixture(scope="module")
def fan_out(tmp_path_factory: pytest.TempPathFactory, lane: Lane) -> Scenario:
    """Files and SQLite, two-phase; two chains of killed drivers."""
    found = scenario("fan-out", LOCAL, tmp_path_factory.mktemp("damage"), lane)
    found.begin(CHAINS)
    return found


def test_damaged_homes_are_refused_or_restored_exactly(fan_out: Scenario) -> None:
    """Bar 3 in short: no row lost or there twice, no traceback; a refusal names what is damaged, with exit code 1."""
    outcomes = [case(fan_out, seed) for seed in range(CASES)]

    assert [one for one in outcomes if one.verdict not in (Verdict.REFUSED, Verdict.EXACT)] == []
    assert {one.verdict for one in outcomes} == {Verdict.REFUSED, Verdict.EXACT}, "nothing was tried"


def test_what_is_not_damaged_is_restored(fan_out: Scenario) -> None:
    for kept in fan_out.kept:
        fan_out.put_back(kept)
        assert restored(fan_out, kept) == (Verdict.EXACT, "")


def _loses_a_row(file: Path) -> None:
    file.write_text("".join(file.read_text().splitlines(keepends=True)[1:]))


def _doubles_a_row(file: Path) -> None:
    text = file.read_text()
    file.write_text(text.splitlines(keepends=True)[0] + text)


def _fails(_: Path) -> None:
    raise KeyError("planted")


@pytest.mark.parametrize(
    ("plant", "verdict"),
    [(_loses_a_row, Verdict.LOST), (_doubles_a_row, Verdict.DOUBLED), (_fails, Verdict.TRACEBACK)],
)
def test_the_campaign_sees_a_loss_a_duplicate_and_a_traceback(
    fan_out: Scenario, monkeypatch: pytest.MonkeyPatch, plant: Callable[[Path], None], verdict: Verdict
) -> None:
    """Each case can fail: a restore that ends well, behind which a fault is planted."""
    run = app.run

    def faulty(*given: Any) -> Any:
        receipt = run(*given)
        plant(next(path for path in sorted(fan_out.place.files.glob("[!.]*")) if path.stat().st_size))
        return receipt

    monkeypatch.setattr(app, "run", faulty)
    fan_out.put_back(fan_out.kept[0])

    assert restored(fan_out, fan_out.kept[0])[0] is verdict


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (SeaTunnelError("something is damaged", "give it back"), Verdict.UNNAMED),
        (JobFileError((Problem("no such option"),)), Verdict.EXIT_CODE),
    ],
)
def test_the_campaign_sees_a_refusal_without_a_name_and_a_wrong_exit_code(
    fan_out: Scenario, monkeypatch: pytest.MonkeyPatch, error: SeaTunnelError, verdict: Verdict
) -> None:
    def refuse(*_: Any) -> Any:
        raise error

    monkeypatch.setattr(app, "run", refuse)

    assert case(fan_out, 0).verdict == verdict


def put_back(fan_out: Scenario, chain: int) -> Path:
    fan_out.put_back(fan_out.kept[chain])
    return fan_out.job


def refused(fan_out: Scenario, chain: int) -> str:
    """Twice: what is refused stays refused."""
    for _ in range(2):
        verdict, said = restored(fan_out, fan_out.kept[chain])
        assert verdict is Verdict.REFUSED, said
    return said


def test_p4_f1_all_records_of_the_first_driver_are_lost(fan_out: Scenario) -> None:
    """P4-F1: `rm checkpoints/records/*`: exit 0, and every row that was visible was there twice."""
    for record in (put_back(fan_out, 0) / "checkpoints/records").iterdir():
        record.unlink()

    assert "was completed, but the store does not show it" in refused(fan_out, 0)


def test_p4_f1_one_wrong_digit_in_a_claim(fan_out: Scenario) -> None:
    """P4-F1: `sed -i 's/"incarnation": 1/"incarnation": 3/' claims/00000001`."""
    claim = put_back(fan_out, 0) / "checkpoints/claims/00000001"
    text = claim.read_text()
    assert '"incarnation": 1' in text
    claim.write_text(text.replace('"incarnation": 1', '"incarnation": 3'))

    assert f"{claim} is damaged: its checksum is wrong" in refused(fan_out, 0)


def test_p4_f9_a_wrong_byte_in_the_plan(fan_out: Scenario) -> None:
    """P4-F9: a KeyError with a traceback."""
    plan = put_back(fan_out, 1) / "plan.json"
    text = plan.read_text()
    assert "TWO_PHASE" in text
    plan.write_text(text.replace("TWO_PHASE", "TWO_PHASD"))

    assert f"{plan} is damaged" in refused(fan_out, 1)


def test_p4_f1_the_plan_is_gone(fan_out: Scenario) -> None:
    """It says of which job the store is, and how much it has to know."""
    plan = put_back(fan_out, 0) / "plan.json"
    plan.unlink()

    assert f"{plan} is gone, and the job has checkpoints" in refused(fan_out, 0)


@pytest.mark.parametrize("folder", ["checkpoints", "checkpoints/records", "checkpoints/claims", "checkpoints/journal"])
def test_p4_f1_checkpoints_of_another_job(fan_out: Scenario, folder: str) -> None:
    """Of the same id and another lineage: they were gone on from, and rows came twice."""
    place = put_back(fan_out, 0) / folder
    shutil.rmtree(place)
    shutil.copytree(fan_out.kept[1].home / place.relative_to(fan_out.place.home), place)

    assert re.search(
        "is of another job|is wrong|whose claim is missing|is lost|has lost the journal", refused(fan_out, 0)
    )
