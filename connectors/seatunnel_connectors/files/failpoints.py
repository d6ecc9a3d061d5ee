"""The failpoints of the file sinks."""

from __future__ import annotations

from seatunnel_py.api import failpoint

WRITTEN = failpoint("files.unit.written", "A unit's files are whole, but perhaps not on the disk.")
BEFORE = failpoint("files.commit.before", "No file has its final name.")
INSIDE = failpoint("files.commit.inside", "One more file has its final name; others are still to come.")
PUBLISHED = failpoint("files.commit.published", "Every file has its final name; what was staged is not swept.")
COMPOSED = failpoint("files.commit.composed", "The single file is assembled, under a hidden name.")
AFTER = failpoint("files.commit.after", "The commit is done; the driver has not reported it yet.")
