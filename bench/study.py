"""A study without Spark: which way of reading and writing in plain Python processes is the fastest.

    python -m bench.study [--rows 3000000] [--pairs 3] [--only NAME ...] [--list]

Each way copies the big table by key ranges; every range is one transaction that also inserts a piece row, as
a shadow load does. Workers and their connections are warm; adding the key counts. README.md has the findings.
"""

from __future__ import annotations

import argparse
import multiprocessing
import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.queues import Queue
from statistics import median
from typing import Any

import pyarrow as pa
from adbc_driver_postgresql import dbapi

from bench import cpu, pairs, pg, pipes
from seatunnel_connectors.jdbc.postgres.connection.copy_stream import CopyStream
from tests.servers.postgres import PostgresServer

NOT_NULL_KEY = f"ALTER TABLE {pg.TARGET}.{pg.BIG_TABLE} ADD PRIMARY KEY (id)"
UNIQUE_THEN_USING = (
    f"CREATE UNIQUE INDEX big_key ON {pg.TARGET}.{pg.BIG_TABLE} (id);"
    f"ALTER TABLE {pg.TARGET}.{pg.BIG_TABLE} ADD CONSTRAINT big_key PRIMARY KEY USING INDEX big_key"
)
READ_AHEAD_BATCHES = 2


@dataclass(frozen=True, slots=True)
class Way:
    """One way of copying; what is not said is what the plain ADBC way does."""

    keyed: bool = False
    processes: int = 2
    ranges: int = 12
    hint_bytes: int | None = None
    read: str = "copy"  # copy | query | raw
    # A thread reads ahead while the process writes.
    overlap: bool = False
    # All batches of a range in one ingest (a reader) or one ingest per batch.
    per_batch: bool = False
    by_ctid: bool = False
    key_memory: str = "1GB"
    key_workers: int = 2
    key_sql: str = NOT_NULL_KEY
    nullable: bool = False
    write_settings: str = ""


WAYS: dict[str, Way] = {
    "adbc keyed": Way(keyed=True),
    "adbc shadow": Way(),
    "adbc 1 MB batches": Way(hint_bytes=1 << 20),
    "adbc 4 MB batches": Way(hint_bytes=4 << 20),
    "adbc 64 MB batches": Way(hint_bytes=64 << 20),
    "adbc ingest per batch": Way(per_batch=True),
    "adbc without COPY": Way(read="query"),
    "adbc 2 ranges": Way(ranges=2),
    "adbc 6 ranges": Way(ranges=6),
    "adbc 30 ranges": Way(ranges=30),
    "adbc ctid ranges": Way(by_ctid=True),
    "adbc overlap": Way(overlap=True),
    "adbc 4 MB, 6 ranges": Way(hint_bytes=4 << 20, ranges=6),
    "adbc 2 MB": Way(hint_bytes=2 << 20),
    "adbc 512 kB": Way(hint_bytes=512 << 10),
    "adbc 128 kB": Way(hint_bytes=128 << 10),
    "adbc 1 MB, overlap": Way(overlap=True, hint_bytes=1 << 20),
    "adbc 1 MB, overlap, 6 ranges": Way(overlap=True, hint_bytes=1 << 20, ranges=6),
    "adbc 1 MB, keyed": Way(keyed=True, hint_bytes=1 << 20),
    "adbc overlap 4 MB": Way(overlap=True, hint_bytes=4 << 20),
    "adbc 3 processes": Way(processes=3),
    "adbc 4 processes": Way(processes=4),
    "adbc nullable columns": Way(nullable=True),
    "adbc key 64MB": Way(key_memory="64MB"),
    "adbc key no workers": Way(key_workers=0),
    "adbc key using index": Way(key_sql=UNIQUE_THEN_USING),
    "adbc wal_compression": Way(write_settings="SET wal_compression = lz4"),
    "raw frames": Way(read="raw"),
    "raw frames, 3 processes": Way(read="raw", processes=3),
    "raw frames keyed": Way(read="raw", keyed=True),
}


@dataclass(frozen=True, slots=True)
class Figures:
    """What one measurement found: the clock, until the last row is committed, and processor seconds."""

    seconds: float
    load_seconds: float
    client_cpu: float
    server_cpu: float


def selects(way: Way, rows: int, pages: int) -> list[str]:
    if way.by_ctid:
        return [
            f"SELECT * FROM {pg.SOURCE}.{pg.BIG_TABLE} WHERE ctid >= '({low},0)' AND ctid < '({high},0)'"
            for low, high in pipes.key_ranges(0, pages, way.ranges)
        ]
    return [
        f"SELECT * FROM {pg.SOURCE}.{pg.BIG_TABLE} WHERE id >= {low} AND id < {high}"
        for low, high in pipes.key_ranges(1, rows, way.ranges)
    ]


def read_ahead(reader: pa.RecordBatchReader) -> pa.RecordBatchReader:
    """The same batches, fetched by a thread: libpq and the decoder release the interpreter."""
    waiting: queue.Queue[pa.RecordBatch | None] = queue.Queue(READ_AHEAD_BATCHES)

    def fetch() -> None:
        for batch in reader:
            waiting.put(batch)
        waiting.put(None)

    def batches() -> Iterator[pa.RecordBatch]:
        thread = threading.Thread(target=fetch)
        thread.start()
        while (batch := waiting.get()) is not None:
            yield batch
        thread.join()

    return pa.RecordBatchReader.from_batches(reader.schema, batches())


def copy_range(source: Any, target: Any, select: str, way: Way, number: int) -> int:
    """Read one range, write it and its piece row in one transaction."""
    with source.cursor() as reading, target.cursor() as writing:
        options = {"adbc.postgresql.use_copy": "true" if way.read == "copy" else "false"}
        if way.hint_bytes is not None:
            options["adbc.postgresql.batch_size_hint_bytes"] = str(way.hint_bytes)
        reading.adbc_statement.set_options(**options)
        reading.execute(select)
        reader = reading.fetch_record_batch()
        if way.overlap:
            reader = read_ahead(reader)
        chunks = reader if way.per_batch else [reader]
        rows = sum(
            writing.adbc_ingest(pg.BIG_TABLE, chunk, mode="append", db_schema_name=pg.TARGET) for chunk in chunks
        )
        writing.execute(f"INSERT INTO {pg.TARGET}.pieces VALUES ({number}, {rows})")
    target.commit()
    source.rollback()
    return int(rows)


def copy_frames(source: CopyStream, target: CopyStream, select: str, piece: str) -> int:
    """One range as COPY's own bytes, by what the connector uses."""
    target.begin_copy(f"BEGIN; COPY {pg.TARGET}.{pg.BIG_TABLE} FROM STDIN (FORMAT binary)")
    for block in source.copy_out(f"COPY ({select}) TO STDOUT (FORMAT binary)"):
        target.feed(block)
    rows = target.end_copy()
    if rows != source.rows:
        raise RuntimeError(f"{source.rows} rows sent, {rows} written")
    target.run(f"{piece.format(rows=rows)}; COMMIT")
    return rows


def work(dsn: str, way: Way, todo: Queue[tuple[int, str]], talk: Connection) -> None:
    """A worker: connect, say so, wait for the start, copy ranges until none is left."""
    source, target = dbapi.connect(dsn), dbapi.connect(dsn)
    raw = (CopyStream(dsn), CopyStream(dsn)) if way.read == "raw" else None
    if way.write_settings:
        with target.cursor() as cursor:
            cursor.execute(way.write_settings)
        target.commit()
    talk.send("ready")
    talk.recv()
    before = time.process_time()
    rows = 0
    while True:
        try:
            number, select = todo.get_nowait()
        except queue.Empty:
            break
        if raw is not None:
            piece = f"INSERT INTO {pg.TARGET}.pieces VALUES ({number}, {{rows}})"
            rows += copy_frames(*raw, select, piece)
        else:
            rows += copy_range(source, target, select, way, number)
    talk.send((rows, time.process_time() - before))


def measure(server: PostgresServer, way: Way, rows: int) -> Figures:
    """Seconds from the start signal until the last row is committed and the key is there."""
    pg.make_target(server, keyed=way.keyed)
    with pg.connect(server) as db:
        db.execute(f"DROP TABLE IF EXISTS {pg.TARGET}.pieces")
        db.execute(f"CREATE TABLE {pg.TARGET}.pieces (number int PRIMARY KEY, rows bigint)")
        if way.nullable:
            for column in ("id", "name", "quantity", "price", "happened_at", "digest"):
                db.execute(f"ALTER TABLE {pg.TARGET}.{pg.BIG_TABLE} ALTER {column} DROP NOT NULL")
        found = db.execute("SELECT relpages FROM pg_class WHERE oid = 'source.big'::regclass").fetchone()
    pages = int(str(found[0])) if found else 0
    context = multiprocessing.get_context("spawn")
    todo: Queue[tuple[int, str]] = context.Queue()
    for task in enumerate(selects(way, rows, pages)):
        todo.put(task)
    workers, talks = [], []
    for _ in range(way.processes):
        here, there = context.Pipe()
        worker = context.Process(target=work, args=(server.dsn, way, todo, there))
        worker.start()
        workers.append(worker)
        talks.append(here)
    for talk in talks:
        talk.recv()
    pg.checkpoint(server)
    server_cpu = cpu.of_server(server)
    started = time.perf_counter()
    for talk in talks:
        talk.send("go")
    answers = [talk.recv() for talk in talks]
    loaded = time.perf_counter()
    if not way.keyed:
        add_key(server, way)
    ended = time.perf_counter()
    server_cpu = cpu.of_server(server) - server_cpu
    for worker in workers:
        worker.join()
    copied = sum(rows for rows, _ in answers)
    assert copied == rows, f"{copied} rows reported instead of {rows}"
    pg.expect_copied(server, rows)
    return Figures(ended - started, loaded - started, sum(used for _, used in answers), server_cpu)


def measure_pipes(server: PostgresServer, rows: int, *, keyed: bool) -> Figures:
    clients, backends = cpu.of_children(), cpu.of_server(server)
    seconds = pipes.measure_pipes(server, rows, keyed=keyed)
    # Creating and counting the target is in the server's figure: about 0.2 s.
    return Figures(seconds, seconds, cpu.of_children() - clients, cpu.of_server(server) - backends)


def add_key(server: PostgresServer, way: Way) -> None:
    with pg.connect(server) as db:
        db.execute(f"SET maintenance_work_mem = '{way.key_memory}'")
        db.execute(f"SET max_parallel_maintenance_workers = {way.key_workers}")
        db.execute(way.key_sql)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.study", description=__doc__)
    parser.add_argument("--rows", type=int, default=pg.ROWS)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=[], help="names of ways; the pipes always run")
    parser.add_argument("--list", action="store_true")
    wanted = parser.parse_args(arguments)
    if wanted.list:
        print("\n".join(WAYS))
        return
    chosen = {name: way for name, way in WAYS.items() if not wanted.only or name in wanted.only}
    with pg.server() as server:
        pg.make_big_table(server, wanted.rows)
        measures: dict[str, Callable[[], Figures]] = {
            "pipes keyed": partial(measure_pipes, server, wanted.rows, keyed=True),
            "pipes unkeyed": partial(measure_pipes, server, wanted.rows, keyed=False),
        }
        for name, way in chosen.items():
            measures[name] = partial(measure, server, way, wanted.rows)
        figures: dict[str, list[Figures]] = {name: [] for name in measures}
        ways = {name: partial(noted, figures[name], run) for name, run in measures.items()}
        pairs.report("study", pairs.interleave(ways, wanted.pairs), base="pipes keyed", rows=wanted.rows)
    print_parts(figures)


def noted(found: list[Figures], run: Callable[[], Figures]) -> float:
    found.append(run())
    return found[-1].seconds


def print_parts(figures: Mapping[str, Sequence[Figures]]) -> None:
    """Where the time goes; medians."""
    print(f"{'way':32} {'load s':>8} {'key s':>8} {'client cpu s':>14} {'server cpu s':>14}")
    for name, each in figures.items():
        load = median(one.load_seconds for one in each)
        key = median(one.seconds - one.load_seconds for one in each)
        client, server = median(one.client_cpu for one in each), median(one.server_cpu for one in each)
        print(f"{name:32} {load:8.2f} {key:8.2f} {client:14.2f} {server:14.2f}")


if __name__ == "__main__":
    main()
