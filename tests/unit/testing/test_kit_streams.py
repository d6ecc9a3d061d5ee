"""The conformance kit finds what is wrong with unbounded sources, and does not wait for those who say nothing."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from seatunnel_example import Follow, FollowEnumerator, FollowFactory, FollowOptions, FollowReader

from seatunnel_py.api import (
    Batch,
    Determinism,
    Enumerator,
    Heartbeat,
    Plain,
    Position,
    Reader,
    Source,
    SourceCapabilities,
    SourceTable,
    Split,
    StepContext,
)
from seatunnel_py.testing import Report, SourceTarget, check_source, streams

LATER = "later rows are read once"
SAYS_SO = "a reader without rows for now yields its position"


@dataclass(frozen=True)
class Odd(Follow):
    """Does what ``flaw`` says."""

    flaw: str = ""

    def enumerator(self, tables: Any, state: Plain) -> Enumerator:
        enumerator = OddEnumerator(self, tables[0], state)
        enumerator.flaw = self.flaw
        if self.flaw == "is never asked again":
            enumerator.interval = None
        if self.flaw == "names splits anew" and state is not None:
            enumerator._known = set()
        return enumerator

    def reader(self, table: SourceTable) -> Reader:
        return OddReader(self.flaw)


class OddEnumerator(FollowEnumerator):
    flaw = ""

    def discover(self) -> Iterable[Split]:
        if self.flaw == "finds nothing later" and self._known:
            return []
        found = super().discover()
        return [replace(one, id=f"{one.id}!{id(self)}") for one in found] if self.flaw == "names splits anew" else found

    def snapshot(self) -> Plain:
        return {"known": {1}} if self.flaw == "has no plain state" else super().snapshot()  # type: ignore[dict-item]


class OddReader(FollowReader):
    def __init__(self, flaw: str) -> None:
        self.flaw = flaw

    def read(self, split: Split, start: Position | None) -> Iterator[Any]:
        if self.flaw == "begins again" and start is not None:
            start = None
        for element in super().read(split, start):
            if self.flaw == "waits" and isinstance(element, Heartbeat):
                time.sleep(3600)
            if self.flaw == "ends" and isinstance(element, Heartbeat):
                return
            if self.flaw == "is never quiet" and isinstance(element, Heartbeat):
                texts = pa.array([f"row {time.monotonic()}"])
                element = Batch(split.table, pa.record_batch([texts], ["line"]), end=element.end)
                element = replace(element, end=Position({"at": time.monotonic()}))
            if self.flaw == "its Heartbeats are late" and isinstance(element, Heartbeat):
                element = Heartbeat(Position({"at": 0}))
            yield element


class OddFactory(FollowFactory):
    name = "Odd"

    def __init__(self, flaw: str, determinism: Determinism = Determinism.DETERMINATE) -> None:
        self.flaw, self.determinism = flaw, determinism

    def capabilities(self, options: FollowOptions, context: StepContext) -> SourceCapabilities:
        return SourceCapabilities(bounded=False, determinism=self.determinism)

    def create(self, options: FollowOptions, context: StepContext) -> Source:
        return Odd(options.directory, self.flaw)


def checked(folder: Path, factory: OddFactory) -> Report:
    def rows() -> list[tuple[str]]:
        return [(line,) for path in folder.glob("*.log") for line in path.read_text().splitlines()]

    def more() -> None:
        with (folder / "a.log").open("a") as file:
            file.write("three\n")
        (folder / "later.log").write_text("four\nfive\n")

    (folder / "a.log").write_text("one\ntwo\n")
    return check_source(SourceTarget(factory, {"directory": str(folder)}, rows, more, quiet=0.1))


def test_a_stream_that_keeps_its_promises_has_nothing_broken(tmp_path: Path) -> None:
    report = checked(tmp_path, OddFactory(""))

    assert not report.broken, report.text
    assert f"kept         {LATER}" in report.text
    assert "determinate rows, and no end of them" in report.text


@pytest.mark.parametrize(
    ("flaw", "broken", "why"),
    [
        ("waits", SAYS_SO, "gives nothing for 0.3 s, not even a Heartbeat"),
        ("ends", LATER, "1 rows are lost"),
        ("begins again", LATER, "2 are too many"),
        ("its Heartbeats are late", LATER, "2 are too many"),
        ("is never asked again", LATER, "2 rows are lost, 0 are too many; its interval is None"),
        ("finds nothing later", LATER, "2 rows are lost"),
        ("names splits anew", LATER, "are too many, read from the snapshot"),
        ("has no plain state", "splits have ids that stay the same", "no checkpoint can hold the snapshot"),
    ],
)
def test_a_broken_promise_of_a_stream_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flaw: str, broken: str, why: str
) -> None:
    """What loses rows, brings them twice or holds up every checkpoint, each as itself."""
    monkeypatch.setattr(streams, "PATIENCE_SECONDS", 0.3)
    report = checked(tmp_path, OddFactory(flaw))

    found = {finding.property: finding.why for finding in report.broken}
    assert why in found.get(broken, ""), report.text


@pytest.mark.parametrize("limits", [{"limit_seconds": 0.5}, {"rows_max": 5}])
def test_a_stream_that_never_falls_quiet_ends_the_trial(tmp_path: Path, limits: dict[str, Any]) -> None:
    """P2-F7: the kit hung for ever, without a word."""
    (tmp_path / "a.log").write_text("one\n")
    began = time.monotonic()
    target = SourceTarget(OddFactory("is never quiet"), {"directory": str(tmp_path)}, quiet=0.1, **limits)

    report = check_source(target)

    assert time.monotonic() - began < 5
    assert "without a pause of 0.1 s: hold the target still" in report.text
    assert report.broken


def test_rows_in_any_order_end_where_they_are_told_to(tmp_path: Path) -> None:
    """Nobody else can stop them there; this reader does not look, but ends there as long as nothing more has come."""
    report = checked(tmp_path, OddFactory("", Determinism.UNORDERED))

    assert "kept         a read up to a position ends there again" in report.text
