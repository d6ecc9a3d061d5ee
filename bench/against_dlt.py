"""PostgreSQL to PostgreSQL against dlt from the package index: one big table, and many small ones, into new tables.

    python -m bench.against_dlt [--rows 1000000] [--tables 50] [--pairs 5]

The first run makes an environment for dlt in .cache/dlt. dlt runs as bench/dlt_pipeline.py, in both ways of loading
that its manual calls fast, each time with an empty working directory; ratios are to the faster one. Two tables are
printed. Whole commands: with start, imports and planning. Work alone: `pipeline.run` and what it reads first about its
tables; ours is the receipt's `seconds.data`, from the first unit to the last commit, so our planning is not in it. Our
tables have their primary keys at the end, dlt's have none. After each measurement the digest of each target's rows is
that of its source's; columns that dlt adds are left out.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import median

from bench import content, ours, pairs, pg
from tests.servers.postgres import USER, PostgresServer

REQUIREMENTS = (
    "dlt[parquet,postgres,sql-database]==1.31.0",
    "connectorx==0.4.6",
    "adbc-driver-manager==1.13.0",
    "adbc-driver-postgresql==1.13.0",
    "psycopg2-binary==2.9.13",
    "pyarrow==26.0.1",
    "sqlalchemy==2.1.9",
)
PLACE = ours.ROOT / ".cache" / "dlt"
SCRIPT = Path(__file__).with_name("dlt_pipeline.py")
TIMEOUT_S = 900
FORMATS = ("parquet", "csv")
ROWS, TABLES = 1_000_000, 50


def make_environment() -> Path:
    """The interpreter of an environment that holds the versions above, made anew when they have changed."""
    python, made_of = PLACE / "bin" / "python", PLACE / "requirements.txt"
    wanted = "\n".join(REQUIREMENTS)
    if not made_of.exists() or made_of.read_text() != wanted:
        print("making an environment for dlt", file=sys.stderr, flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(PLACE)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *REQUIREMENTS], check=True)
        made_of.write_text(wanted)
    return python


class Bench:
    """The ways for some tables, and the whole commands' seconds beside those of the work."""

    def __init__(self, server: PostgresServer, names: Sequence[str], place: Path, python: Path) -> None:
        self.server = server
        self.names = names
        self.place = place
        self.python = python
        self.whole: dict[str, list[float]] = {}
        self.wanted = {name: content.of_postgres(server, f"{pg.SOURCE}.{name}") for name in names}

    def ready(self) -> None:
        pg.drop_targets(self.server)
        pg.checkpoint(self.server)

    def done(self, way: str, whole_seconds: float) -> None:
        for name in self.names:
            relation = f"{pg.TARGET}.{name}"
            content.expect(content.of_postgres(self.server, relation), self.wanted[name], relation)
        self.whole.setdefault(way, []).append(whole_seconds)

    def ours(self) -> float:
        self.ready()
        result = ours.run(ours.tables_job(self.server, self.names, env='guarantee = "exactly-once"'), self.place)
        self.done("ours", result.wall_seconds)
        return result.data_seconds

    def dlt(self, file_format: str) -> float:
        self.ready()
        dsn = self.server.dsn.replace(f"{USER}@", f"{USER}:none@")  # dlt wants a password where none is asked for
        with tempfile.TemporaryDirectory(prefix="dlt-bench-") as home:
            env = os.environ | {"RUNTIME__DLTHUB_TELEMETRY": "false", "DLT_DATA_DIR": home}
            began = time.perf_counter()
            ended = subprocess.run(
                [str(self.python), "-I", str(SCRIPT), dsn, pg.SOURCE, pg.TARGET, file_format, home, *self.names],
                cwd=home, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT_S,
            )  # fmt: skip
            whole_seconds = time.perf_counter() - began
        if ended.returncode:
            raise RuntimeError(f"dlt ended with {ended.returncode}:\n{ended.stderr[-3000:]}")
        self.done(f"dlt, {file_format}", whole_seconds)
        return float(json.loads(ended.stdout.splitlines()[-1])["seconds"])

    def ways(self) -> dict[str, pairs.Way]:
        theirs: dict[str, pairs.Way] = {f"dlt, {each}": partial(self.dlt, each) for each in FORMATS}
        return theirs | {"ours": self.ours}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.against_dlt", description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--tables", type=int, default=TABLES)
    parser.add_argument("--pairs", type=int, default=5)
    wanted = parser.parse_args(arguments)
    python = make_environment()
    with pg.server() as server, ours.home() as place:
        pg.make_big_table(server, wanted.rows)
        small = pg.make_small_tables(server, wanted.tables)
        for names, rows in (([pg.BIG_TABLE], wanted.rows), (small, wanted.tables * pg.SMALL_ROWS)):
            bench = Bench(server, names, place, python)
            work = pairs.interleave(bench.ways(), wanted.pairs)
            title = f"against dlt, {len(names)} x {rows // len(names):,} rows"
            base = min((way for way in work if way != "ours"), key=lambda way: median(work[way]))
            pairs.report(f"{title}, whole commands", bench.whole, base=base, rows=rows)
            pairs.report(f"{title}, work alone", work, base=base, rows=rows)


if __name__ == "__main__":
    main()
