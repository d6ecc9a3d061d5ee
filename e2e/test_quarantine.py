"""Bad rows of many kinds: all good rows arrive, all bad ones are in the quarantine once, and after a fix a replay delivers
them once; also when the driver is killed in the middle of either."""

from __future__ import annotations

import base64
import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from e2e.conftest import Databases
from e2e.support import IN_PROCESS, SEATUNNEL, Finished, finish, kill_driver, seatunnel, start, wait_alive, write_job

ROWS = 7_000
WAIT_SECONDS_MAX = 180.0
EVERY = 100  # one row of so many is bad
KINDS = {
    0: ("name", "'a name that is too long'"),
    1: ("note", "NULL"),
    2: ("amount", "12345.5"),
    3: ("quantity", "-1"),
    4: ("email", "'taken'"),
    5: ("country", "'nowhere'"),
    6: ("checked", "'REFUSED'"),
}
"""Too long, not null, overflow, check, unique, foreign key, refused by a transform."""


def kind_of(row: int) -> int | None:
    """What is wrong with a row; None: nothing is."""
    return (row // EVERY) % len(KINDS) if row % EVERY == 7 else None


GOOD = [row for row in range(1, ROWS + 1) if kind_of(row) is None]
BAD = [row for row in range(1, ROWS + 1) if kind_of(row) is not None]
PROPER = {
    "name": "'n' || i", "note": "'fine'", "amount": "i % 999", "quantity": "i", "email": "'e' || i",
    "country": "'here'", "checked": "'OK'",
}  # fmt: skip
NUMBER_OF = {name: kind for kind, (name, _) in KINDS.items()}


class Job:
    """From a table that takes anything into one that does not."""

    def __init__(self, home: Path, databases: Databases) -> None:
        self.home, self.databases = home, databases
        columns = [
            f"CASE WHEN i % {EVERY} = 7 AND (i / {EVERY}) % {len(KINDS)} = {NUMBER_OF[name]} "
            f"THEN {KINDS[NUMBER_OF[name]][1]} ELSE {proper} END"
            for name, proper in PROPER.items()
        ]
        with databases.connect(databases.source) as connection:
            connection.execute(
                "CREATE TABLE orders (id bigint PRIMARY KEY, source text, seq int, name text, note text, amount numeric, "
                "quantity bigint, email text, country text, checked text)"
            )
            connection.execute(
                f"INSERT INTO orders SELECT i, 'orders', i, {', '.join(columns)} FROM generate_series(1, {ROWS}) i"
            )
            connection.execute("ANALYZE")
        with databases.connect(databases.target) as connection:
            connection.execute("CREATE TABLE countries (country text PRIMARY KEY)")
            connection.execute("INSERT INTO countries VALUES ('here')")
            connection.execute(
                "CREATE TABLE orders (id bigint PRIMARY KEY, source text, seq int, name varchar(12), note text NOT NULL, "
                "amount numeric(6, 2), quantity bigint CHECK (quantity >= 0), email text UNIQUE, "
                "country text REFERENCES countries, checked text)"
            )
            connection.execute("INSERT INTO orders VALUES (-1, 'before', 0, '', '', 0, 0, 'taken', 'here')")

    def write(self, limits: str = "error.max-ratio = 0.011", refused: str = "REFUSED") -> None:
        write_job(
            self.home,
            f"""
            env {{ checkpoint.interval = 200, source.consistency = per-split, {limits} }}
            source {{ Jdbc {{ {self.databases.jdbc(self.databases.source)}, plugin_output = read, partition_num = 7,
                              table_path = "{self.databases.source}.public.orders" }} }}
            transform {{ DataValidator {{ plugin_input = read, plugin_output = valid, field_rules = [
                {{ field_name = checked, rule_type = REGEX, pattern = "^(?!{refused}).*$" }} ] }} }}
            sink {{ Jdbc {{ {self.databases.jdbc(self.databases.target)}, plugin_input = valid, generate_sink_sql = true,
                            database = {self.databases.target}, table = "public.${{table_name}}" }} }}""",
        )

    def mend(self) -> None:
        """The target takes anything now, and the transform refuses something else."""
        with self.databases.connect(self.databases.target) as connection:
            connection.execute(
                "ALTER TABLE orders DROP CONSTRAINT orders_quantity_check, DROP CONSTRAINT orders_email_key, "
                "DROP CONSTRAINT orders_country_fkey, ALTER note DROP NOT NULL, ALTER name TYPE text, "
                "ALTER amount TYPE numeric"
            )
        self.write(refused="SOMETHING ELSE")

    def arrived(self) -> list[int]:
        """The numbers of the rows in the target, with those that stand there twice."""
        with self.databases.connect(self.databases.target) as connection:
            return [int(seq) for (seq,) in connection.execute("SELECT seq FROM orders WHERE id > 0 ORDER BY seq")]

    def aside(self) -> list[dict[str, Any]]:
        shown = seatunnel(self.home, "quarantine", "show", "job", "--json", "--limit", "1000000")
        assert shown.code == 0, shown.err
        loaded: list[dict[str, Any]] = json.loads(shown.out)
        return loaded

    def run(self, *more: str, program: Sequence[str] = SEATUNNEL) -> Finished:
        return finish(start(self.home, "run", "job.conf", "--job-id", "job", "--json", *more, program=program))

    def run_until_killed(self) -> None:
        """Run the job, and kill its driver and workers when the first bad rows count."""
        process = start(self.home, "run", "job.conf", "--job-id", "job")
        committed = self.home / ".seatunnel/jobs/job/quarantine/committed"
        wait_alive(process, "bad rows", lambda: list(committed.glob("*.json")), WAIT_SECONDS_MAX)
        kill_driver(process)


@pytest.fixture
def job(tmp_path: Path, databases: Databases) -> Job:
    made = Job(tmp_path, databases)
    made.write()
    return made


def check_set_aside(job: Job) -> None:
    """All good rows are there, all bad ones are kept, each once and with the step and the values as they were read."""
    assert job.arrived() == GOOD
    aside = job.aside()
    assert sorted(row["values"]["seq"] for row in aside) == BAD
    for row in aside:
        name, value = KINDS[kind_of(row["values"]["seq"]) or 0]
        found = row["values"][name]
        assert value == ("NULL" if found is None else f"'{found}'") or float(value) == float(found)
        assert row["step"] == ("valid" if name == "checked" else "Jdbc-sink-1"), row


def test_bad_rows_of_seven_kinds_and_their_replay(job: Job) -> None:
    """F50: limits hold, so the job is a success; after a fix each bad row arrives once, however often it is asked for."""
    run = job.run(program=IN_PROCESS)  # on Spark the next test does it, and the replay below

    assert run.code == 0, run.out + run.err
    (table,) = run.receipt["tables"]
    assert (table["rows_read"], table["rows_written"], table["rows_rejected"]) == (ROWS, len(GOOD), len(BAD))
    assert any(f"{len(BAD)} bad rows" in note for note in run.receipt["notes"])
    check_set_aside(job)

    job.mend()
    replay = seatunnel(job.home, "quarantine", "replay", "job", "--json")
    assert replay.code == 0, replay.out + replay.err
    assert replay.receipt["totals"]["rows_written"] == len(BAD)
    again = seatunnel(job.home, "quarantine", "replay", "job")
    assert again.code == 0 and "holds no rows" in again.out
    assert job.arrived() == list(range(1, ROWS + 1))
    assert job.aside() == []


def test_the_driver_is_killed_in_the_middle(job: Job) -> None:
    """What was set aside counts with its checkpoint: neither lost nor there twice after the job went on."""
    job.run_until_killed()

    run = job.run("--restore", "latest")

    assert run.code == 0, run.out + run.err
    (table,) = run.receipt["tables"]
    assert (table["rows_read"], table["rows_rejected"]) == (ROWS, len(BAD))
    check_set_aside(job)
    staged = job.home / ".seatunnel/jobs/job/quarantine/staged"
    named = {
        name
        for manifest in staged.with_name("committed").iterdir()
        for name, _, _ in json.loads(manifest.read_text())["files"]
    }
    assert {path.name for path in staged.iterdir()} == named, "nothing is left that does not count"


def test_too_many_bad_rows_fail_their_table_only(job: Job) -> None:
    """By count, and by share; the other table of the job arrives, and the first bad rows are named."""
    with job.databases.connect(job.databases.source) as connection:
        connection.execute("CREATE TABLE other (id bigint PRIMARY KEY, seq int)")
        connection.execute("INSERT INTO other SELECT i, i FROM generate_series(1, 100) i")
    source = job.databases.source
    for limits, words in (("error.max-rows = 5", "error.max-rows = 5"), ("error.max-ratio = 0.001", "0.001")):
        job.write(limits)
        text = (job.home / "job.conf").read_text()
        tables = (
            f'table_list = [{{ table_path = "{source}.public.orders" }}, {{ table_path = "{source}.public.other" }}]'
        )
        both = text.replace(f'table_path = "{source}.public.orders"', tables)
        both = both.replace("field_rules", 'table_match_regex = ".*orders", field_rules')
        write_job(job.home, both)

        run = job.run("--fresh", program=IN_PROCESS)

        assert run.code == 3, run.out + run.err
        assert run.tables("ISOLATED") == {f"{source}.public.orders"}
        assert run.tables("DONE") == {f"{source}.public.other"}
        cause = next(table["cause"] for table in run.receipt["tables"] if table["cause"])
        assert words in cause["message"] and "error.max-rows" in cause["remedy"]
        with job.databases.connect(job.databases.target) as connection:
            assert connection.execute("SELECT count(*) FROM other").fetchone() == (100,)
            connection.execute("DROP TABLE other")


def test_documents_that_are_none(tmp_path: Path) -> None:
    """Garbled lines, bytes that are no text and values of another type, in a file: kept as the bytes that came; what the
    table refuses is kept as a row."""
    lines = [b'{"id": %d, "name": "n%d"}' % (n, n) for n in range(1000)]
    garbled = {7: b'{"id": 7, "na', 507: b'{"id": 507, "name": "\xff"}', 607: b'{"id": "six", "name": "n"}'}
    for at, line in garbled.items():
        lines[at] = line
    lines[107] = b'{"id": 107, "name": null}'
    (tmp_path / "in.json").write_bytes(b"\n".join(lines) + b"\n")
    with sqlite3.connect(tmp_path / "target.db") as connection:
        connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT NOT NULL)")
    write_job(
        tmp_path,
        f"""
        env {{ error.max-rows = 4 }}
        source {{ LocalFile {{ path = "{tmp_path}/in.json", file_format_type = json,
                              schema {{ table = "t", fields {{ id = bigint, name = string }} }} }} }}
        sink {{ Jdbc {{ url = "jdbc:sqlite:{tmp_path}/target.db", driver = sqlite, generate_sink_sql = true,
                       table = t, primary_keys = ["id"] }} }}""",
    )

    run = finish(start(tmp_path, "run", "job.conf", "--job-id", "job", "--json", program=IN_PROCESS))

    assert run.code == 0, run.out + run.err
    assert run.receipt["totals"]["rows_rejected"] == 4
    shown = seatunnel(tmp_path, "quarantine", "show", "job", "--json")
    rows = json.loads(shown.out)
    assert {base64.b64decode(row["values"]["raw"]) for row in rows if row["raw"]} == set(garbled.values())
    assert [row["values"] for row in rows if not row["raw"]] == [{"id": 107, "name": None}]
    with sqlite3.connect(tmp_path / "target.db") as connection:
        arrived = [n for (n,) in connection.execute("SELECT id FROM t ORDER BY id")]
        assert arrived == [n for n in range(1000) if n not in {*garbled, 107}]
