"""Tests a source's promises."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

from seatunnel_py.api.capabilities import Determinism
from seatunnel_py.testing.findings import Finding, Report, Verdict, tried
from seatunnel_py.testing.reading import SourceReading, SourceTarget
from seatunnel_py.testing.streams import Streaming

__all__ = ["SourceTarget", "check_source"]


MADE = "it is made, can be sent to a worker, and finds its splits"


def _begun(target: SourceTarget) -> SourceReading:
    return SourceReading(target) if target.source()[1].bounded else Streaming(target)


def check_source(target: SourceTarget) -> Report:
    """Test everything that a source promises."""
    begun: list[SourceReading] = []
    made = tried(MADE, lambda: begun.append(_begun(target)))
    if made.verdict is Verdict.BROKEN:
        return Report(target.factory.name, "nothing yet", (made,))
    with closing(begun[0]) as read:
        return _report(target, read)


def _report(target: SourceTarget, read: SourceReading) -> Report:
    stream = read if isinstance(read, Streaming) else None
    capabilities = read.capabilities
    again = capabilities.replayable
    once = "it declares that it cannot be read again"
    properties: list[tuple[str, Callable[[], str | None], bool, str]] = [
        ("splits have ids that stay the same", read.stable, True, ""),
        ("every row is read once", read.whole, target.rows is not None, ""),
        ("batches match the schema", read.fits, True, ""),
        ("a split that is read twice yields the same rows", read.twice, again, once),
        ("after every position exactly the rest is read", read.resumes, again, once),
    ]
    if stream is not None:
        unordered = again and capabilities.determinism is Determinism.UNORDERED
        grows = target.more is not None and target.rows is not None
        ordered = "its rows come in the same order, so that the engine stops it there"
        properties += [
            ("a reader without rows for now yields its position", stream.says_so, True, ""),
            ("a read up to a position ends there again", stream.ends_again, unordered, ordered),
            ("later rows are read once", stream.later, grows, "the target has no `more`, or no `rows`"),
        ]
    if target.disturb is not None and stream is None:
        still = again and capabilities.determinism > Determinism.INDETERMINATE
        other = "it declares INDETERMINATE rows"
        properties.append(("rows stay the same while others write there", read.undisturbed, still, other))
    properties.append(("the state of a split in a checkpoint is small", read.sizes, True, ""))
    findings = [
        tried(name, attempt) if promised else Finding(name, Verdict.NOT_PROMISED, why)
        for name, attempt, promised, why in properties
    ]
    what = f"{capabilities.determinism.name.lower()} rows{'' if stream is None else ', and no end of them'}"
    return Report(target.factory.name, what, tuple(findings))
