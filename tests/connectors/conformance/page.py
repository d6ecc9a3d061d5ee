"""docs/guarantees.md: what the conformance kit found out about our connectors."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from seatunnel_py.testing import Report, Verdict

PAGE = Path(__file__).parents[3] / "docs" / "guarantees.md"
HEAD = """# What sinks and sources promise, and what was found

This page is generated: `make guarantees` tries every property below against real servers, with the conformance kit that
plugin authors use (`seatunnel_py.testing`, see [authors.md](authors.md)), and writes what it finds. Do not edit it.

*Kept* was tried and holds; *not promised* follows from what the plugin declares, and is not tried. A sink is killed at
each failpoint that it passes, and goes on in another process.
"""


def page(reports: Mapping[str, Report]) -> str:
    """One section for each plugin and configuration."""
    parts = [HEAD]
    for name, report in reports.items():
        parts.append(f"## {name}\n\nDeclares {report.guarantee}.\n\n| property | found | reason |\n|---|---|---|")
        for one in report.findings:
            why = (
                "" if one.verdict is Verdict.KEPT else one.why.replace("|", ",")
            )  # what was measured differs each time
            parts.append(f"| {one.property} | {one.verdict} | {why} |")
        parts.append("")
    return "\n".join(parts)
