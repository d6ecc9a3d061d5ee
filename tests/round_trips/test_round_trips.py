"""The short form of `make types`: a few random values of every type through each pair."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.round_trips.pairs import pairs
from tests.round_trips.rounds import run_round
from tests.servers.process import ServerMissing

SHORT = ("postgres:itself", "postgres:parquet", "postgres:json")
ROWS = 12
REFUSED_MAX = 0.2
"""Of a pair's values: a generator whose values are mostly refused proves nothing."""


@pytest.mark.parametrize("pair", SHORT)
def test_no_value_changes_without_a_word(pair: str, tmp_path: Path) -> None:
    name, _, place = pair.partition(":")
    try:
        with pairs(tmp_path) as made:
            database = made.database(name)
            outcome = run_round(database, made.place(name, place), tmp_path, Random(pair), ROWS, database.kinds)
    except ServerMissing as missing:
        pytest.skip(str(missing))
    assert not outcome.findings
    assert outcome.counts["refused"] <= REFUSED_MAX * outcome.counts.total(), outcome.causes
