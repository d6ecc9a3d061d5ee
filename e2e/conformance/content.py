"""What jobs leave behind, looked at: files, printed lines, tables. Every check raises AssertionError."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from e2e.conformance.servers import Servers
from seatunnel_connectors.files.lzop import LzopReader


@dataclass(frozen=True, slots=True)
class Left:
    """After a job: its scratch directory for ``/tmp``, what it printed, its variables, the servers."""

    tmp: Path
    printed: str
    variables: Mapping[str, str]
    servers: Servers


Check = Callable[[Left], None]

_ROW = re.compile(r"^subtaskIndex=\d+  rowIndex=\d+:  SeaTunnelRow#tableId=\S* SeaTunnelRow#kind=(\w+) : (.*)$")


def printed_rows(count: int) -> Check:
    """Console printed that many rows."""

    def check(left: Left) -> None:
        assert len(_rows(left)) == count, f"{len(_rows(left))} rows were printed, not {count}"

    return check


def printed_some(left: Left) -> None:
    """Console printed rows."""
    assert _rows(left), "no row was printed"


def printed_texts(*texts: str) -> Check:
    """Console printed one row for each text, and each text stands in its row."""

    def check(left: Left) -> None:
        rows = _rows(left)
        assert len(rows) == len(texts), f"{len(rows)} rows were printed, not {len(texts)}"
        for row, text in zip(rows, texts, strict=True):
            assert text in row, f"{text!r} is not in the printed row {row!r}"

    return check


def printed_only(value: str) -> Check:
    """The first value of every printed row."""

    def check(left: Left) -> None:
        assert _rows(left), "no row was printed: the check would say nothing"
        wrong = [row for row in _rows(left) if row.split(", ")[0] != value]
        assert not wrong, f"a row that the query filters out was printed: {wrong[0]!r}"

    return check


def _rows(left: Left) -> list[str]:
    return [match[2] for line in left.printed.splitlines() if (match := _ROW.match(line))]


def files(directory: Path, suffix: str) -> list[Path]:
    """The finished files below a directory. Anything else that a writer left there is an error, but for what readers
    pass over: hidden directories, where a running job keeps its mark."""
    below = (path for path in sorted(directory.rglob("*")) if path.is_file())
    found = [path for path in below if not any(part[0] == "." for part in path.relative_to(directory).parts[:-1])]
    strange = [path.name for path in found if path.suffix != suffix]
    assert not strange, f"{strange[0]!r} lies among the files"
    assert found, f"no file in {directory.name}"
    return found


def lines(directory: Path, suffix: str = ".txt", encoding: str = "utf-8") -> list[str]:
    """All lines of the files below a directory. Only ``\\n`` ends one."""
    texts = [path.read_bytes().decode(encoding) for path in files(directory, suffix)]
    return [line for text in texts for line in text.split("\n") if line]


def text_rows(path: str, count: int | str, fields: int, delimiter: str = "\x01") -> Check:
    """Text files hold that many rows (or the product of two variables) of that many fields."""

    def check(left: Left) -> None:
        found = lines(left.tmp / _filled(path, left.variables))
        wanted = count if isinstance(count, int) else _product(count, left.variables)
        assert len(found) == wanted, f"{len(found)} rows in the files, not {wanted}"
        wrong = [line for line in found if len(line.split(delimiter)) != fields]
        assert not wrong, f"a row has {len(wrong[0].split(delimiter))} fields, not {fields}"

    return check


def exact_lines(path: str, wanted: tuple[str, ...], suffix: str, encoding: str = "utf-8") -> Check:
    """The files hold these lines, in this order."""

    def check(left: Left) -> None:
        found = lines(left.tmp / path, suffix, encoding)
        for line, expected in zip(found, wanted, strict=False):
            assert line == expected, f"the file holds {line!r}, not {expected!r}"
        assert len(found) == len(wanted), f"{len(found)} lines in the files, not {len(wanted)}"

    return check


def header(left: Left) -> None:
    """The first line names the columns exactly when the variable says so; one row follows."""
    kind = left.variables["file_format_type"]
    separator, suffix = {"csv": (",", ".csv"), "text": ("\x01", ".txt")}[kind]
    found = lines(left.tmp / "text", suffix)
    names = separator.join(("name", "age"))
    if left.variables["enable_header_write"] == "true":
        assert found[0] == names, f"the header is {found[0]!r}, not {names!r}"
        found = found[1:]
    assert len(found) == 1, f"{len(found)} rows in the file, not 1"
    assert re.fullmatch(rf"[^{separator}]+{separator}\d+", found[0]), f"not a name and an age: {found[0]!r}"


def parquet_rows(path: str, count: int, columns: int) -> Check:
    """Parquet files hold that many rows and columns, compressed as the job asks."""

    def check(left: Left) -> None:
        tables = [pq.read_table(file, partitioning=None) for file in files(left.tmp / path, ".parquet")]
        rows = sum(table.num_rows for table in tables)
        assert rows == count, f"{rows} rows in the files, not {count}"
        assert tables[0].num_columns == columns, f"{tables[0].num_columns} columns, not {columns}"
        codec = pq.ParquetFile(files(left.tmp / path, ".parquet")[0]).metadata.row_group(0).column(0).compression
        assert codec == "GZIP", f"compressed with {codec}, not GZIP"

    return check


def lzo_rows(path: str, count: int, fields: int) -> Check:
    """Text packed with lzo holds that many rows of that many fields."""

    def check(left: Left) -> None:
        texts = [LzopReader(io.BytesIO(file.read_bytes())).read() for file in files(left.tmp / path, ".lzo")]
        found = [line for text in texts for line in text.decode().split("\n") if line]
        assert len(found) == count, f"{len(found)} rows in the files, not {count}"
        assert all(line.count("\x01") == fields - 1 for line in found), f"a row has not {fields} fields"

    return check


def same_rows(kind: str, wanted: str, found: str) -> Check:
    """Two queries give the same rows. Values are compared as the database's own text."""

    def check(left: Left) -> None:
        server = left.servers.database(kind)
        expected, got = server.rows(wanted), server.rows(found)
        assert expected, "the source is empty: the check would say nothing"
        assert len(got) == len(expected), f"{len(got)} rows arrived, not {len(expected)}"
        for row, other in zip(expected, got, strict=True):
            for position, (value, arrived) in enumerate(zip(row, other, strict=True)):
                assert value == arrived, f"column {position + 1}: {arrived!r} arrived, not {value!r}"

    return check


def exact_rows(kind: str, query: str, wanted: list[tuple[object, ...]]) -> Check:
    """A query gives exactly these rows."""

    def check(left: Left) -> None:
        server = left.servers.database(kind)
        assert server.rows(query) == wanted, f"the table holds {server.rows(query)}"

    return check


def records(topic: str, count: int) -> Check:
    """A topic holds that many records with a value."""

    def check(left: Left) -> None:
        assert left.servers.kafka is not None
        found = left.servers.kafka.values(topic)
        assert len(found) == count and all(found), f"{len(found)} records in the topic, not {count}"

    return check


def every(*checks: Check) -> Check:
    """All of them."""

    def check(left: Left) -> None:
        for each in checks:
            each(left)

    return check


def _filled(path: str, variables: Mapping[str, str]) -> str:
    for name, value in variables.items():
        path = path.replace(f"${{{name}}}", value)
    return path


def _product(names: str, variables: Mapping[str, str]) -> int:
    product = 1
    for name in names.split("*"):
        product *= int(variables.get(name, name))
    return product
