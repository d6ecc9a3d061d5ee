"""The short form of `make types`: a few random values of every type through each pair."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.round_trips.followed import run_followed_round
from tests.round_trips.pairs import pairs
from tests.round_trips.rounds import ROUTES, command, run_round
from tests.servers.process import ServerMissing

SHORT = ("postgres:itself", "postgres:parquet", "postgres:json", "sqlite:there")
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


@pytest.mark.spark
def test_no_value_changes_in_a_query_without_a_word(tmp_path: Path) -> None:
    """Some of the types: each costs a job in Spark."""
    try:
        with pairs(tmp_path) as made:
            database = made.database("sqlite")
            random = Random("query")
            kinds = random.sample(database.kinds, 12)
            place = made.place("sqlite", "there")
            outcome = run_round(database, place, tmp_path, random, ROWS, kinds, route=ROUTES["query"])
    except ServerMissing as missing:
        pytest.skip(str(missing))
    assert outcome.counts["equal"] > 0 and not outcome.findings


def test_no_value_changes_in_a_log_without_a_word(tmp_path: Path) -> None:
    """Some of the types: they are copied, changed and followed. A value that only the log refuses stops its table."""
    try:
        with pairs(tmp_path, logged=True) as made:
            database = made.database("postgres")
            random = Random("log")
            kinds = random.sample(database.kinds, 20)
            place = made.place("postgres", "there")
            outcome = run_followed_round(database, place, tmp_path, random, ROWS, kinds)
    except ServerMissing as missing:
        pytest.skip(str(missing))
    assert not outcome.findings
    assert outcome.counts["refused"] <= REFUSED_MAX * outcome.counts.total(), outcome.causes


def test_plan_and_receipt_name_the_same_conversions(tmp_path: Path) -> None:
    """P1: nothing said that money became numeric, or that a number without bounds is text."""
    try:
        with pairs(tmp_path) as made:
            database = made.database("postgres")
            database.reset()
            kinds = {kind.words: kind for kind in database.kinds}
            for table, words in {"n": "numeric", "z": "time with time zone", "i": "integer"}.items():
                database.fill(table, kinds[words], [None])
            job = tmp_path / "job.conf"
            sink = made.place("postgres", "json").sink()
            job.write_text(f"source {{ {database.source(['n', 'z', 'i'])} }}\nsink {{ {sink} }}\n")
            plan, receipt = command(tmp_path, "plan", str(job), "--json"), command(tmp_path, "run", str(job), "--json")
    except ServerMissing as missing:
        pytest.skip(str(missing))
    planned = {one["table"]: one["conversions"] for line in plan["pipelines"] for one in line["sinks"]}
    assert planned == {table["table"]: table["targets"][0]["conversions"] for table in receipt["tables"]}
    named = {one["source"]: one["target"] for found in planned.values() for one in found}
    assert named == {"numeric": "number", "time with time zone": "string"}
    assert any(note.startswith("2 columns of 2 tables arrive in another form") for note in receipt["notes"])
