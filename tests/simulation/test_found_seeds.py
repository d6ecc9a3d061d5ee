"""Seeds of long campaigns that have found a fault, each with that fault: they end well."""

from __future__ import annotations

import pytest

from tests.simulation.world import run

FOUND = {
    (16513, "aligned"): "a restart repeated entries without the last one, which was durable (I39)",
    (10558, "aligned"): "the same, at a source that can be read only once (I2)",
    (5432, "unaligned"): "the same, behind a channel (I2)",
    (10134, "aligned"): "a log wrote rows of a table into the target that its new copy had emptied",
    (8807, "aligned"): "an overtaken driver emptied a target that the newer one kept",
    (210, "aligned"): "a copy waited for a log that its table had left, and the log for a table that had failed",
    (17290, "unaligned"): "a table was copied again though its log had failed before the table left it",
    (19111, "aligned"): "a log was left while a receiver was ahead of its sender, and no later driver could go on",
    (12804, "unaligned"): "a pipeline committed rows of an isolated sink that its recovery had deleted",
    (9020, "aligned"): "a pipeline ended while a line of its journal was under way",
    (3488, "aligned"): "the simulation stopped each driver before its log could change its tables",
    (668, "aligned"): "a target refuses the last commit, which its recovery issues again",
    (11968, "aligned"): "the simulated sink took rows of a version that its table did not have",
    (3147, "aligned"): "a log that begins anew took in a table whose copy had failed, so no table was followed",
    (6817, "unaligned"): "the same, for another table",
    (12846, "aligned"): "a log that had read nothing could not go on without a table that was copied again",
    (128, "aligned"): "the simulated log began though no table was copied",
    (8210, "aligned"): "the checker did not know how far the log of an earlier driver was repeated",
    (19044, "aligned"): "the checker saw a loss, though everything had begun from nothing before",
}


@pytest.mark.parametrize(("seed", "mode"), FOUND)
def test_what_was_found_is_mended(seed: int, mode: str) -> None:
    run(seed, mode)
