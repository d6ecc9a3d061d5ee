"""PUBLIC: the conformance kit. Tests the guarantees that a plugin declares, with kills at every failpoint on its way.

::

    def fresh(number: int) -> SinkTarget:
        folder = tmp_path / str(number)
        return SinkTarget(LinesFactory(), {"directory": str(folder)}, rows=lambda: rows_in(folder))

    def test_lines() -> None:
        report = check_sink(fresh)
        assert not report.broken, report.text

Each property gets its own empty target. ``rows`` is a side door: it reads the external system without the plugin. The
declared capabilities decide which properties are promised. A promise that does not hold is a *broken* finding with the
reason; a property that is not promised is shown as such and not tested.
"""

from __future__ import annotations

from seatunnel_py.testing.findings import Finding, Report, Verdict
from seatunnel_py.testing.jobs import JobRun, run_job
from seatunnel_py.testing.life import all_rows
from seatunnel_py.testing.sinks import SinkTarget, check_sink
from seatunnel_py.testing.sources import SourceTarget, check_source
from seatunnel_py.testing.transforms import TransformTarget, check_transform

__all__ = [
    "Finding",
    "JobRun",
    "Report",
    "SinkTarget",
    "SourceTarget",
    "TransformTarget",
    "Verdict",
    "all_rows",
    "check_sink",
    "check_source",
    "check_transform",
    "run_job",
]
