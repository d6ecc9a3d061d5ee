"""The driver killed again and again, and gone on with: every row arrives once, whatever the recipe."""

from __future__ import annotations

from pathlib import Path

import pytest

from e2e.conftest import Databases
from e2e.support import IN_PROCESS, SEATUNNEL, Process, finish, kill_driver, start, wait_alive, write_job

ROWS, ROWS_PER_SECOND = 600_000, 250_000
"""Slow enough for two checkpoints of each driver on a machine of any speed."""
AS_READ, AS_MAPPED = "read", "mapped"
NEWLINE = "\n"
MAPPED = """transform { FieldMapper { plugin_input = read, plugin_output = mapped,
                                      field_mapper = { id = id, source = source, seq = seq } } }"""
"""Rows do not pass in their native form."""


class Job:
    """A job that copies a table, to be killed."""

    def __init__(self, home: Path, databases: Databases) -> None:
        self.home, self.databases = home, databases
        self.files = home / "out"
        self.program = SEATUNNEL
        with databases.connect(databases.source) as connection:
            connection.execute("CREATE TABLE big (id bigint PRIMARY KEY, source text NOT NULL, seq int NOT NULL)")
            connection.execute(f"INSERT INTO big SELECT i, 'big', i FROM generate_series(1, {ROWS}) i")
            connection.execute("ANALYZE")

    def write(self, *sinks: str, parts: int = 1, env: str = "", mapped: bool = False) -> None:
        source = f"""Jdbc {{ {self.databases.jdbc(self.databases.source)}, plugin_output = read,
                             table_path = "{self.databases.source}.public.big", partition_num = {parts} }}"""
        took = AS_MAPPED if mapped else AS_READ
        text = f"""
            env {{ checkpoint.interval = 200, unit.rows = 1000, read_limit.rows_per_second = {ROWS_PER_SECOND}{env and ", "}{env} }}
            source {{ {source} }}
            {MAPPED if mapped else ""}
            sink {{ {NEWLINE.join(sink.replace("TOOK", took) for sink in sinks)} }}"""
        write_job(self.home, text)

    @property
    def into_table(self) -> str:
        return f"""Jdbc {{ {self.databases.jdbc(self.databases.target)}, plugin_input = TOOK, generate_sink_sql = true,
                           database = {self.databases.target}, table = "public.${{table_name}}" }}"""

    @property
    def into_files(self) -> str:
        return f'LocalFile {{ plugin_input = TOOK, path = "{self.files}", file_format_type = "csv" }}'

    def killed_and_resumed(self, kills: int, targets: int = 1) -> None:
        """Kill the driver after a few checkpoints, go on with the job, and so on; at last let it end."""
        for number in range(kills):
            self._kill(self._start(restore=bool(number)), number + 1)
        run = finish(self._start(restore=True))
        assert run.code == 0, run.err + run.out
        table = run.receipt["tables"][0]
        assert (table["rows_read"], table["rows_written"]) == (ROWS, ROWS * targets), "a restart takes back its counts"
        again = finish(self._start(restore=True))
        assert again.code == 0 and "nothing to do" in again.out

    def _start(self, *, restore: bool) -> Process:
        more = ["--restore", "latest"] if restore else []
        return start(self.home, "run", "job.conf", "--job-id", "job", "--json", *more, program=self.program)

    def _kill(self, process: Process, incarnation: int) -> None:
        records = self.home / ".seatunnel/jobs/job/checkpoints/records"
        wait_alive(process, "its second checkpoint", lambda: list(records.glob(f"{incarnation:08}-*[2-9]")))
        kill_driver(process)

    def check_table(self) -> None:
        wanted = self.databases.rows(self.databases.source, "big")
        assert [row for row in self.databases.rows(self.databases.target, "big") if row[2] != 0] == wanted

    def check_files(self) -> None:
        lines = [line for file in self.files.rglob("*.csv") for line in file.read_text().splitlines()]
        assert sorted(int(line.split(",")[0]) for line in lines) == list(range(1, ROWS + 1))


@pytest.fixture
def job(tmp_path: Path, databases: Databases) -> Job:
    return Job(tmp_path, databases)


def test_an_append_to_a_table(job: Job) -> None:
    """O30: Rows are visible as soon as a unit is done, with the unit's name beside them: no unit counts twice."""
    with job.databases.connect(job.databases.target) as connection:
        connection.execute("CREATE TABLE big (id bigint PRIMARY KEY, source text NOT NULL, seq int NOT NULL)")
        connection.execute("INSERT INTO big VALUES (-1, 'before', 0)")
    job.write(job.into_table)

    job.killed_and_resumed(3)

    job.check_table()


def test_a_load_beside_the_table(job: Job) -> None:
    """A new table is filled under another name; splits that may be of different moments go on where they stood."""
    job.program = IN_PROCESS
    job.write(job.into_table, parts=4, env="parallelism = 2, source.consistency = per-split", mapped=True)

    job.killed_and_resumed(2)

    job.check_table()
    with job.databases.connect(job.databases.target) as connection:
        left = connection.execute("SELECT relname FROM pg_class WHERE strpos(relname, '__st_') > 0").fetchall()
    assert not left, "staging tables are left behind"


def test_a_load_of_one_moment_begins_anew(job: Job) -> None:
    """The snapshot died with the driver: what was read under it is dropped, nothing of it is ever seen."""
    job.program = IN_PROCESS
    job.write(job.into_table, parts=4, env="parallelism = 2", mapped=True)

    job.killed_and_resumed(1)

    job.check_table()


def test_files(job: Job) -> None:
    """Files appear with the commit of their checkpoint, each once."""
    job.program = IN_PROCESS
    job.write(job.into_files)

    job.killed_and_resumed(2)

    job.check_files()


@pytest.mark.parametrize("parallelism", [1, 2])
def test_a_fan_out(job: Job, parallelism: int) -> None:
    """Two sinks behind one source: their channels, and the journal of what each unit took, outlive the driver; two
    readers on Spark, one in the driver's own process."""
    job.program = SEATUNNEL if parallelism == 2 else IN_PROCESS
    env = f"parallelism = {parallelism}, source.consistency = per-split"
    job.write(job.into_files, job.into_table, parts=2, env=env)

    job.killed_and_resumed(2, targets=2)

    job.check_files()
    job.check_table()
