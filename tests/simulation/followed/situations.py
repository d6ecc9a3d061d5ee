"""Situations of a job that follows a log, as counters: each must happen in a long campaign."""

from __future__ import annotations

ADDED, REMOVED, RESET, REORDERED = (
    "a table was added to the job",
    "a table was taken out of the job",
    "a table was to be copied again",
    "the tables of a job were named in another order",
)
JOINED, LEFT, WENT_BACK = "a table joined a log", "a table left a log", "a table went back to its place"
EMPTIED, COPIED = "a target was emptied for another copy", "a table has joined again"
ALTERED, DECIDED = "a followed target was altered", "a change was decided: {}"
RULED = "a rule decided about a change"
KEPT = "a log was confirmed while a table waits"
REFUSED = "a start with other tables was refused"
SITUATIONS = (
    ADDED, REMOVED, RESET, REORDERED, JOINED, LEFT, WENT_BACK, EMPTIED, COPIED, ALTERED, KEPT,
    DECIDED.format("approve"), DECIDED.format("reject"), RULED,
)  # fmt: skip
