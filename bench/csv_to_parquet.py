"""CSV to Parquet: our LocalFile source and sink by the public command line, against Arrow in one and two processes.

    python -m bench.csv_to_parquet [--rows 5000000] [--pairs 5]

The file (about 470 MB) is made once and kept in .cache/bench. Arrow reads with `csv.open_csv` and writes with
ParquetWriter: the same types, the same compression, row groups of the same size. One process has all of Arrow's
threads; two have none, which is faster, and share the file by halves. Our files are on the disk when the command ends,
Arrow's are in the system's memory. After each measurement every value is compared with that of the CSV file.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from hashlib import md5
from pathlib import Path

import pyarrow as pa
from pyarrow import csv, parquet

from bench import ours, pairs

ROWS = 5_000_000
SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64()),
        pa.field("name", pa.string()),
        pa.field("quantity", pa.int32()),
        pa.field("price", pa.float64()),
        pa.field("happened_at", pa.timestamp("us")),
        pa.field("digest", pa.string()),
    ]
)
CODEC = "snappy"
BLOCK_BYTES = 4 << 20
GROUP_BYTES = 32 << 20  # as our sink has them
START_SECONDS_MAX = 60.0


def lines(rows: int) -> Iterator[str]:
    """Records, with a missing quantity in every hundredth."""
    for i in range(1, rows + 1):
        quantity = "" if i % 100 == 0 else i * 7919 % 100_000
        moment = f"2020-{i % 12 + 1:02}-{i % 28 + 1:02} {i % 24:02}:{i % 60:02}:{i // 60 % 60:02}"
        yield f"{i},customer {i},{quantity},{i * 0.37!r},{moment},{md5(b'%d' % i).hexdigest()}\n"


def make_csv(rows: int) -> Path:
    """The same bytes at any time; kept for the next run."""
    path = ours.CACHE / "csv" / f"{rows}.csv"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(f".{os.getpid()}")
        with unfinished.open("w") as file:
            file.write(",".join(SCHEMA.names) + "\n")
            file.writelines(lines(rows))
        unfinished.rename(path)
    return path


def read(path: Path, begin: int, end: int, *, threads: bool = True) -> csv.CSVStreamingReader:
    """A part of the file, which ends with a line."""
    with pa.memory_map(str(path)) as file:
        file.seek(begin)
        part = file.read_buffer(end - begin)
    return csv.open_csv(
        pa.BufferReader(part),
        csv.ReadOptions(column_names=SCHEMA.names, block_size=BLOCK_BYTES, use_threads=threads),
        convert_options=csv.ConvertOptions(column_types=SCHEMA, null_values=[""], strings_can_be_null=True),
    )


def convert(path: Path, begin: int, end: int, into: Path, *, threads: bool) -> None:
    """What one process of the reference does."""
    held: list[pa.RecordBatch] = []
    with parquet.ParquetWriter(into, SCHEMA, compression=CODEC) as writer:
        for batch in read(path, begin, end, threads=threads):
            held.append(batch)
            if sum(each.nbytes for each in held) >= GROUP_BYTES:
                writer.write_table(pa.Table.from_batches(held))
                held = []
        if held:
            writer.write_table(pa.Table.from_batches(held))


def parts_of(path: Path, count: int) -> list[tuple[int, int]]:
    """Ranges of bytes that begin and end with a record."""
    size = path.stat().st_size
    with path.open("rb") as file:
        file.readline()
        points = [file.tell()]
        for part in range(1, count):
            file.seek(points[0] + (size - points[0]) * part // count)
            file.readline()
            points.append(file.tell())
    return list(zip(points, [*points[1:], size], strict=True))


class Bench:
    """The ways, with one file and one directory that each fills anew."""

    def __init__(self, rows: int, place: Path) -> None:
        self.path = make_csv(rows)
        self.place = place
        self.target = place / "parquet"
        self.whole: list[float] = []
        [whole] = parts_of(self.path, 1)
        self.wanted = read(self.path, *whole).read_all()
        if self.wanted.num_rows != rows:
            raise AssertionError(f"{self.path} holds {self.wanted.num_rows} rows; remove it")

    def ready(self) -> None:
        shutil.rmtree(self.target, ignore_errors=True)
        self.target.mkdir()
        os.sync()

    def done(self) -> None:
        found = parquet.read_table(self.target)
        if not found.sort_by("id").equals(self.wanted):
            raise AssertionError(f"{self.target} does not hold what {self.path} does")
        for file in self.target.rglob("*.parquet"):
            codec = parquet.ParquetFile(file).metadata.row_group(0).column(0).compression
            if codec != CODEC.upper():
                raise AssertionError(f"{file} is compressed with {codec}")

    def arrow(self, processes: int) -> float:
        self.ready()
        context = multiprocessing.get_context("spawn")
        ready = context.Barrier(processes + 1)
        with ProcessPoolExecutor(processes, context, ready.wait, (START_SECONDS_MAX,)) as pool:
            for _ in range(processes):
                pool.submit(int)
            ready.wait(START_SECONDS_MAX)  # the start of a process is no part of the work
            began = time.perf_counter()
            parts = parts_of(self.path, processes)
            running = [
                pool.submit(convert, self.path, *part, self.target / f"{number}.parquet", threads=processes == 1)
                for number, part in enumerate(parts)
            ]
            for each in running:
                each.result()
            seconds = time.perf_counter() - began
        self.done()
        return seconds

    def ours(self) -> float:
        self.ready()
        result = ours.run(job(self.path, self.target), self.place)
        self.done()
        self.whole.append(result.wall_seconds)
        return result.data_seconds


def job(path: Path, target: Path) -> str:
    return f"""env {{ job.mode = "BATCH", parallelism = 2 }}
source {{
  LocalFile {{
    path = "{path}"
    file_format_type = csv
    csv_use_header_line = true
    schema {{ fields {{
      id = bigint, name = string, quantity = int, price = double, happened_at = timestamp, digest = string
    }} }}
  }}
}}
sink {{
  LocalFile {{ path = "{target}", file_format_type = parquet, compress_codec = {CODEC} }}
}}
"""


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.csv_to_parquet", description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--pairs", type=int, default=5)
    wanted = parser.parse_args(arguments)
    with ours.home() as place:
        bench = Bench(wanted.rows, place)
        ways: dict[str, pairs.Way] = {
            "Arrow, one process": lambda: bench.arrow(1),
            "Arrow, two processes": lambda: bench.arrow(2),
            "ours": bench.ours,
        }
        seconds: dict[str, list[float]] = pairs.interleave(ways, wanted.pairs)
    seconds["ours, whole command"] = bench.whole
    pairs.report("CSV to Parquet", seconds, base="Arrow, one process", rows=wanted.rows)


if __name__ == "__main__":
    main()
