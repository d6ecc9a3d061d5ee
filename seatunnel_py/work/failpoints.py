"""Lists the failpoints of a unit, in order; work that a worker leaves unfinished there must never become visible, or
not twice."""

from __future__ import annotations

from seatunnel_py.api.process.failpoints import failpoint

BEGAN = failpoint("worker.unit.began", "A worker has a unit; nothing of it is done.")
HALF = failpoint("worker.unit.half", "Some rows of a unit are with the sink, others are still to come.")
BEFORE_STAGING = failpoint("worker.stage.before", "All rows of a unit are with the sink; none is confirmed.")
STAGED = failpoint("worker.stage.after", "Everything is staged and confirmed; the driver has not heard.")
