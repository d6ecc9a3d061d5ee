"""A job that hangs says who waits for whom; one that only has nothing to read says that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from test_control_desk import Asked
from test_driver_late import Gate, wait_until
from test_driver_restarts import unbounded

from seatunnel_py.runtime.control.requests import RequestKind
from seatunnel_py.runtime.diagnosis import diagnostics, stall_detector
from seatunnel_py.runtime.observe.events import JobStalled
from tests.kit.runtime_toys import Target, ToySink, ToySource, forked, straight


@dataclass(frozen=True)
class LockedSink(ToySink):
    says: list[str] = field(default_factory=list)

    def blocked_by(self) -> Sequence[str]:
        return self.says


def standing(asked: Asked, request: str = "e") -> dict[str, Any]:
    """What the job answers about its first table."""
    asked.ask(RequestKind.EXPLAIN, request)
    answer = asked.answer(request)
    assert answer.done
    return dict(answer.about["tables"][0])


def test_a_unit_that_does_not_end_is_named_with_its_split(tmp_path: Path) -> None:
    asked = Asked(tmp_path, [straight("x", ToySource((30,)))], lambda unit: unit.id.sequence > 1)
    asked.job.thread.start()
    wait_until(lambda: asked.job.engine.held)
    found = standing(asked)
    asked.go()
    asked.job.end()

    assert found["busy"] and found["table"] == "x"
    assert any("unit x#2.e0.a0 has been at work on split s0, from n 10," in text for text in found["waits"])


def test_a_streams_reader_that_gives_nothing_is_told_to_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The classic of who writes one: it waits for the next row, and no unit of it ends."""
    monkeypatch.setattr(diagnostics, "HANGS_SECONDS", -1000.0)
    stream = unbounded(straight("x", ToySource((30,))))
    asked = Asked(tmp_path, [stream], lambda unit: unit.id.sequence > 1)
    asked.job.thread.start()
    wait_until(lambda: asked.job.engine.held)
    found = standing(asked)
    asked.job.driver.stop()
    asked.go()
    asked.job.end()

    assert any("the reader of the plugin Toy gives nothing, not even a Heartbeat" in text for text in found["waits"])


def test_a_sink_that_hangs_is_the_cause_of_those_who_wait_for_room(tmp_path: Path) -> None:
    """Behind a channel: the source cannot go on because of the sink, and that is said of both."""
    line = forked("x", ToySource((3000,)), [ToySink("out")])
    asked = Asked(tmp_path, [line], lambda unit: unit.id.vertex != "x")
    asked.job.thread.start()
    wait_until(lambda: len(asked.job.engine.submitted) > 16)
    wait_until(lambda: any(one.waits for line in asked.job.driver.status() for one in line.subtasks))
    found = standing(asked)
    waits, facts = found["waits"], {one["subtask"]: one for one in found["subtasks"]}
    asked.go()
    asked.job.end()

    assert (facts["x>0[0]"]["doing"], facts["x>0[0]"]["unit"], list(facts["x>0[0]"]["waiters"])) == (
        "running",
        1,
        ["x[0]"],
    )
    assert facts["x[0]"]["doing"] == "output_full" and facts["x[0]"]["waits_for"][0]["subtask"] == "x>0[0]"
    assert any(text.startswith("x>0[0] runs unit 1") and "x[0] waits for it" in text for text in waits), waits
    assert any(text.startswith("x[0] cannot emit") for text in waits), waits


def test_a_commit_that_hangs_is_told_with_what_its_target_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnostics, "BRIEF_SECONDS", 0.0)
    gate = Gate("commit")
    sink = LockedSink("out", Target(gate), ["session 7 holds a lock"])
    asked = Asked(tmp_path, [straight("x", sink=sink)], lambda unit: False)
    asked.job.thread.start()
    assert gate.reached.wait(20)
    found = standing(asked)
    gate.open.set()
    asked.job.end()

    assert found["blocked"] == ["session 7 holds a lock"]
    assert found["waits"][0].startswith("commit out[x] has been under way for")
    assert found["lag"] == 1


def test_what_ails_the_engine_is_the_first_cause(tmp_path: Path) -> None:
    """A cluster that gives the job no executor hangs every unit, and no unit can say why."""
    asked = Asked(tmp_path, [straight("x", ToySource((30,)))], lambda unit: unit.id.sequence > 1)
    asked.job.thread.start()
    wait_until(lambda: asked.job.engine.held)
    before = standing(asked)
    asked.job.engine.ailing = ["no executor is there"]
    found = standing(asked, "f")
    asked.go()
    asked.job.end()

    assert (before["blocked"], found["blocked"]) == ([], ["no executor is there"])


def test_it_is_said_without_a_question_when_nothing_has_moved_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stall_detector, "STILL_SECONDS", 0.1)
    asked = Asked(tmp_path, [straight("x", ToySource((30,)))], lambda unit: unit.id.sequence > 1)
    asked.job.thread.start()
    wait_until(lambda: any(isinstance(event, JobStalled) for event in asked.job.events))
    asked.go()
    asked.job.end()

    told = next(event for event in asked.job.events if isinstance(event, JobStalled))
    assert told.seconds >= 0.1
    assert any("x: unit x#2" in text for text in told.waits)


def test_a_question_leaves_nothing_behind(tmp_path: Path) -> None:
    """Neither files nor memory: somebody may look every second for a month."""
    asked = Asked(tmp_path, [straight("x", ToySource((30,)))], lambda unit: unit.id.sequence > 1)
    asked.job.thread.start()
    for number in range(3):
        standing(asked, f"e{number}")
        asked.control.forget(f"e{number}")
    desk = asked.job.driver.job._request_handler
    assert desk is not None
    wait_until(lambda: not desk._answered)
    assert not list((tmp_path / "control").iterdir())
    asked.go()
    asked.job.end()
