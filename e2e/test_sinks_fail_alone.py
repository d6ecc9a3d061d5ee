"""One source, three sinks, one of which cannot be written: the others arrive, people are told which one did not and
why, and once that is mended a run finishes it alone."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from e2e.conftest import Databases
from e2e.orders import Row, every, in_files, in_table, named
from e2e.support import IN_PROCESS, SEATUNNEL, Finished, finish, seatunnel, start, write_job

ROWS = 6_000
SPLITS = 3
KEY = ", primaryKey { name = pk, columnNames = [seq] }"
EVERY = every(ROWS, SPLITS)
SOURCES = {
    "a table": lambda databases, _: in_table(databases, ROWS, SPLITS),
    "files": lambda _, home: in_files(home, ROWS, SPLITS, KEY),
}


class FanOut:
    """The job, and what arrived."""

    def __init__(self, databases: Databases, home: Path, source: str, program: Sequence[str], once: bool) -> None:
        self.databases, self.home, self.program, self.once = databases, home, program, once
        with databases.connect(databases.target) as connection:
            for table in ("good", "bad"):
                connection.execute(
                    f"CREATE TABLE {table} (seq bigint PRIMARY KEY, source text NOT NULL, split int NOT NULL)"
                )
            connection.execute(f"CREATE ROLE {self.clerk} LOGIN")
            connection.execute(f"GRANT CREATE, USAGE ON SCHEMA public TO {self.clerk}")
            connection.execute(f"ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT ALL ON TABLES TO {self.clerk}")
            connection.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON bad TO {self.clerk}")
        read = SOURCES[source](databases, home)
        write_job(
            home,
            f"""
            env {{ parallelism = 2, checkpoint.interval = 300, unit.rows = 250, job.retry.times = 1,
                   job.retry.interval.seconds = 1 }}
            source {{ {named(read)} }}
            sink {{
              {self.table("good", "postgres")}
              {self.table("bad", self.clerk)}
              LocalFile {{ plugin_input = orders, path = "{home / "out"}", file_format_type = csv }}
            }}
            """,
        )

    @property
    def clerk(self) -> str:
        return f"clerk_{self.databases.target}"

    def table(self, name: str, user: str) -> str:
        into = self.databases.jdbc(self.databases.target).replace('"postgres"', f'"{user}"')
        recipe = ", is_exactly_once = true, exactly_once_recipe = staged" if self.once else ""
        return (
            f"Jdbc {{ plugin_input = orders, {into}, generate_sink_sql = true, database = {self.databases.target}, "
            f'table = "public.{name}"{recipe} }}'
        )

    def run(self, *more: str) -> Finished:
        return finish(start(self.home, "run", "job.conf", "--job-id", "fan", "--json", *more, program=self.program))

    def poison(self, statement: str) -> None:
        with self.databases.connect(self.databases.target) as connection:
            connection.execute(statement)

    def rows(self, table: str) -> list[Row]:
        with self.databases.connect(self.databases.target) as connection:
            return connection.execute(f"SELECT source, split, seq FROM {table}").fetchall()  # type: ignore[return-value]

    def filed(self) -> list[Row]:
        found = []
        for path in (self.home / "out").rglob("*.csv"):
            with path.open(newline="") as file:
                found += [(source, int(split), int(seq)) for seq, source, split in csv.reader(file)]
        return found

    def staged(self) -> list[str]:
        """What lies in the target's schema beside the tables themselves and the ledger."""
        with self.databases.connect(self.databases.target) as connection:
            query = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
            names = [name for (name,) in connection.execute(query)]
        return sorted(set(names) - {"good", "bad", "seatunnel_ledger", "seatunnel_piece"})


POISONS = {
    "a revoked privilege": ("REVOKE INSERT ON bad FROM {clerk}", "GRANT INSERT ON bad TO {clerk}"),
    "rows that it refuses": (
        "ALTER TABLE bad ADD CONSTRAINT early CHECK (seq < 4000)",
        "ALTER TABLE bad DROP CONSTRAINT early",
    ),
}


@pytest.mark.parametrize(
    ("source", "poison", "once", "program"),
    [
        ("a table", "a revoked privilege", True, SEATUNNEL),
        ("a table", "rows that it refuses", True, IN_PROCESS),
        ("files", "a revoked privilege", True, IN_PROCESS),
        ("files", "rows that it refuses", True, IN_PROCESS),
        ("a table", "a revoked privilege", False, IN_PROCESS),
        ("files", "a revoked privilege", False, IN_PROCESS),
    ],
)
def test_one_of_three_sinks_fails_alone_and_is_finished_alone(
    tmp_path: Path, databases: Databases, source: str, poison: str, once: bool, program: Sequence[str]
) -> None:
    """I1, I2, I21: content by (source, split, seq) in the others is exact, exit code 3; text, JSON and `jobs show` name
    sink, table and cause; after the mend only what was missing is written, and nobody touches what was done. ``once``: a commit is what fails, else a unit."""
    job = FanOut(databases, tmp_path, source, program, once)
    spoil, mend = (text.format(clerk=job.clerk) for text in POISONS[poison])
    job.poison(spoil)

    first = job.run()

    assert first.code == 3, first.err
    (table,) = first.receipt["tables"]
    assert table["state"] == "ISOLATED" and table["table"].endswith("orders")
    good, bad, files = table["targets"]
    assert [good["state"], bad["state"], files["state"]] == ["DONE", "ISOLATED", "DONE"], first.err
    assert "bad" in bad["target"] and bad["stands"] is not None
    cause = "permission denied" if "REVOKE" in spoil else "early"
    assert cause in bad["cause"]["message"]
    for arrived in (job.rows("good"), job.filed()):
        assert set(arrived) == EVERY and len(arrived) == ROWS
    assert job.rows("bad") == [], "without its last commit a batch shows nothing"
    assert good["rows_written"] == files["rows_written"] == ROWS and table["rows_read"] == ROWS
    shown = seatunnel(tmp_path, "jobs", "show", "fan")
    assert "ISOLATED" in shown.out and cause in shown.out and "was isolated" in shown.out

    job.poison(mend)
    job.poison("DELETE FROM good WHERE seq = 1")  # whoever wrote it again would be seen
    again = job.run("--restore", "latest")

    assert again.code == 0, again.err
    arrived = job.rows("bad")
    assert set(arrived) == EVERY and len(arrived) == ROWS
    assert len(job.rows("good")) == ROWS - 1 and len(job.filed()) == ROWS
    assert job.staged() == []
    assert job.run("--restore", "latest").code == 0
    assert len(job.rows("bad")) == ROWS


CHECKED = """
            transform {
              JsonPath { plugin_input = raw, plugin_output = read,
                         columns = [ { src_field = source, path = "$.a", dest_field = a } ] }
              Filter { plugin_input = read, plugin_output = orders, include_fields = [seq, source, split] }
            }
            sink {"""


def test_bad_rows_are_set_aside_once_though_they_are_read_twice(tmp_path: Path, databases: Databases) -> None:
    """What finishes the sink reads some of them again, perhaps in other units than before: it leaves them out, and
    sets nothing aside that its pipeline has."""
    job = FanOut(databases, tmp_path, "a table", IN_PROCESS, once=False)
    with databases.connect(databases.source) as connection:
        connection.execute("UPDATE orders SET source = '{\"a\": 1}' WHERE seq % 500 <> 499")
    spoil, mend = (text.format(clerk=job.clerk) for text in POISONS["rows that it refuses"])
    job.poison(spoil)
    place = tmp_path / ".seatunnel" / "jobs" / "fan" / "quarantine" / "committed"
    bad, good = set(range(499, ROWS, 500)), {number for number in range(ROWS) if number % 500 != 499}

    def rewrite(*changes: tuple[str, str]) -> None:
        text = (tmp_path / "job.conf").read_text()
        for before, after in changes:
            assert before in text
            text = text.replace(before, after, 1)
        (tmp_path / "job.conf").write_text(text)

    def aside() -> list[int]:
        shown = seatunnel(tmp_path, "quarantine", "show", "fan", "--json", "--limit", "1000")
        return sorted(one["values"]["seq"] for one in json.loads(shown.out))

    limit = f"unit.rows = 250, error.max-rows = {len(bad)}"
    rewrite(("unit.rows = 250", limit), ("plugin_output = orders", "plugin_output = raw"), ("sink {", CHECKED))
    first = job.run()
    assert first.code == 3, first.err
    assert {seq for _, _, seq in job.rows("good")} == good and aside() == sorted(bad)
    counted = sorted(place.iterdir())

    job.poison(mend)
    again = job.run("--restore", "latest")

    assert again.code == 0, again.err
    arrived = [seq for _, _, seq in job.rows("bad")]
    assert set(arrived) == good and len(arrived) == len(good)
    assert aside() == sorted(bad) and sorted(place.iterdir()) == counted
