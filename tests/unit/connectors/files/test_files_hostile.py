"""Files that are broken, or made to do harm, give errors that name the file and the place."""

from __future__ import annotations

import io
import os
import tarfile
import zipfile
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from files_support import conformance, read, rows, source, write
from pyarrow import csv, orc
from pydantic import ValidationError

from seatunnel_connectors.files.read import document, record_blocks
from seatunnel_py.api import BadRowsError, Column, DataType, FatalError, Kind, TablePath, TableSchema

FIELDS = {"fields": {"a": "string", "n": "int"}}


def refused(match: str, **options: Any) -> str:
    with pytest.raises(FatalError, match=match) as found:
        read(**options)
    return str(found.value)


# ---------------------------------------------------------------- values


@pytest.mark.parametrize(
    ("kind", "content", "match"),
    [
        ("csv", b"x,1\ny,two\n", r"f\.dat, line 2, column 'n': 'two' is not a int"),
        ("text", b"x\x011\n\x01\nz\x013000000000\n", r"line 3, column 'n': '3000000000' is not a int"),
        ("csv", b'x,1\ny,"2\n', r"line 2: not csv"),
        ("csv", b'"x\ny",1\nz,w\n', r"line 3, column 'n': 'w'"),
        ("json", b'{"a":"x","n":1}\n{"a":"y","n":"two"}\n', r"line 2, column 'n': the value: 'two' is not a int"),
        ("json", b'{"a":"x","n":1}\n{"a":\n', r"line 2: not a JSON document"),
        ("json", b'{"a":"x"}\n"text"\n', r"line 2: a row must be an object"),
        ("json", b'{"a":"x","n":' + b"[" * 100_000 + b"\n", r"line 1: not a JSON document"),
        ("csv", b"x,1\n\xff\xfe,2\n", r"line 2: the byte 0xff at 4 is not UTF-8"),
        ("json", b'{"a":"x","n":1}\n{"a":"\xff","n":2}\n', r"line 2: the byte 0xff at 22 is not UTF-8"),
        ("xml", b"<R><RECORD a='x' n='1'/>\n<RECORD a='y' n='z'/></R>", r"line 2, column 'n': 'z' is not a int"),
        ("xml", b"<R><RECORD a='x' n='1'/>", r"not well-formed XML"),
        ("excel", b"no workbook at all, but long enough to be one", r"cannot be read as a workbook"),
        ("parquet", b"PAR1 nothing PAR1", r"cannot be read as Parquet"),
        ("orc", b"ORC nothing", r"cannot be read as ORC"),
    ],
)
def test_a_bad_value_is_named_with_its_file_and_line(kind: str, content: bytes, match: str, tmp_path: Path) -> None:
    (tmp_path / "f.dat").write_bytes(content)
    xml = {"xml_use_attr_format": True, "xml_row_tag": "RECORD"} if kind == "xml" else {}

    refused(match, path=str(tmp_path), file_format_type=kind, schema=FIELDS, **xml)


def test_the_line_is_right_far_into_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_blocks, "BLOCK_BYTES", 100)
    body = [f"x,{n}" for n in range(1000)]
    body[777] = "x,bad"
    (tmp_path / "f.csv").write_text("a,n\n" + "\n".join(body))
    options = {"file_format_type": "csv", "schema": FIELDS, "skip_header_row_number": 1}

    refused(r"line 779, column 'n': 'bad'", path=str(tmp_path), **options)
    refused(r"line 779, column 'n': 'bad'", path=str(tmp_path), file_split_size=1000, **options)


def test_rows_of_other_lengths_keep_their_values(tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text('x,1\ny\n\nz,3,surplus\n"w,v",4\n')
    dropping = {"path": str(tmp_path), "file_format_type": "csv", "schema": FIELDS, "surplus_fields": "drop"}
    assert rows(**dropping) == [
        {"a": "x", "n": 1},
        {"a": "y", "n": None},
        {"a": "z", "n": 3},
        {"a": "w,v", "n": 4},
    ]
    (tmp_path / "f.csv").write_text("x,1,2,3\ny,2,3,4\n")
    assert rows(**dropping) == [{"a": "x", "n": 1}, {"a": "y", "n": 2}]


@pytest.mark.parametrize("kind", ["csv", "text"])
def test_a_row_of_too_many_fields_is_refused_with_its_line(kind: str, tmp_path: Path) -> None:
    """P3-A3: an unquoted delimiter moved the values of a row, and a surplus field was gone, without a word."""
    (tmp_path / "f").write_text("x,1\n\ny,2,surplus\n")
    options = {"path": str(tmp_path), "file_format_type": kind, "schema": FIELDS, "field_delimiter": ","}
    with pytest.raises(BadRowsError, match=r"line 3: the row has 3 fields for 2 columns") as error:
        rows(**options)
    assert "surplus_fields = drop" in error.value.remedy

    (tmp_path / "f").write_text("x,1,2,3\ny,2,3,4\n")
    with pytest.raises(BadRowsError, match=r"line 1: the row has 4 fields for 2 columns"):
        rows(**options)


def test_json_converts_as_the_peer_does(tmp_path: Path) -> None:
    declared = {
        "fields": {"s": "string", "n": "int", "b": "boolean", "d": "date", "t": "timestamp", "x": "decimal(5, 2)"}
    }
    (tmp_path / "f.json").write_text(
        '{"s":{"k":[1.50,"é"]},"n":" 7 ","b":"true","d":"2024年1月31日","t":"20240131102030","x":"1.010"}\n'
        '[{"s":5,"more":1},{"s":null,"t":"2024/01/31 10:20:30"}]\n'
        '["pos",3,false,"2024.01.31","2024-01-31T10:20:30.5",2]\n\n'
    )
    found = rows(path=str(tmp_path), file_format_type="json", schema=declared)

    assert [row["s"] for row in found] == ['{"k":[1.50,"é"]}', "5", None, "pos"]
    assert [row["n"] for row in found] == [7, None, None, 3]
    assert str(found[0]["d"]) == str(found[3]["d"]) == "2024-01-31"
    assert [str(row["t"]) for row in found] == [
        "2024-01-31 10:20:30",
        "None",
        "2024-01-31 10:20:30",
        "2024-01-31 10:20:30.500000",
    ]
    assert [str(row["x"]) for row in found] == ["1.01", "None", "None", "2.00"]


def test_a_missing_json_field_takes_its_columns_default(tmp_path: Path) -> None:
    columns = [{"name": "a", "type": "int", "defaultValue": 7}, {"name": "b", "type": "string"}]
    (tmp_path / "f.json").write_text('{"a":1}\n{"a":null,"b":"x"}\n{}\n')

    found = rows(path=str(tmp_path), file_format_type="json", schema={"columns": columns})
    assert [tuple(row.values()) for row in found] == [(1, None), (7, "x"), (7, None)]


# ---------------------------------------------------------------- archives


def zipped(path: Path, members: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


@pytest.mark.parametrize("name", ["../out.txt", "/etc/out.txt", "a/../../out.txt", "C:\\out.txt", "..\\out.txt"])
def test_members_that_lead_out_are_refused(name: str, tmp_path: Path) -> None:
    zipped(tmp_path / "a.zip", {name: b"x"})
    with tarfile.open(tmp_path / "b.tar", "w") as archive:
        info = tarfile.TarInfo(name)
        info.size = 1
        archive.addfile(info, io.BytesIO(b"x"))

    for file, codec in (("a.zip", "zip"), ("b.tar", "tar")):
        refused(
            "leads out of any directory",
            path=str(tmp_path / file),
            file_format_type="text",
            archive_compress_codec=codec,
        )


def test_bombs_are_refused_before_they_fill_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document, "FREE_BYTES", 1000)
    zeros = b"\n" * 3_000_000
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.txt", zeros)
    import gzip

    (tmp_path / "b.gz").write_bytes(gzip.compress(zeros))
    with tarfile.open(tmp_path / "c.tar.gz", "w:gz") as tar:
        info = tarfile.TarInfo("a.txt")
        info.size = len(zeros)
        tar.addfile(info, io.BytesIO(zeros))
    monkeypatch.setattr("seatunnel_connectors.files.read.archives.FREE_BYTES", 1000)

    for file, codec in (("a.zip", "zip"), ("b.gz", "gz"), ("c.tar.gz", "tar_gz")):
        refused("bomb", path=str(tmp_path / file), file_format_type="text", archive_compress_codec=codec)


def test_an_archive_without_a_wanted_member_is_an_error_and_notes_are_passed_over(tmp_path: Path) -> None:
    zipped(tmp_path / "a.zip", {"README.md": b"hello", "data.lst": b"x,1\n"})
    options = {"path": str(tmp_path), "file_format_type": "csv", "schema": FIELDS, "archive_compress_codec": "zip"}
    refused(r"holds no csv file; its first member is 'README\.md'", **options)

    assert rows(filename_extension=".lst", **options) == [{"a": "x", "n": 1}]


def test_broken_and_encrypted_archives_are_named(tmp_path: Path) -> None:
    zipped(tmp_path / "a.zip", {"a.csv": b"x,1\n" * 1000})
    content = (tmp_path / "a.zip").read_bytes()
    options = {"file_format_type": "csv", "schema": FIELDS, "archive_compress_codec": "zip"}
    (tmp_path / "cut.zip").write_bytes(content[:-30])
    refused(r"cut\.zip cannot be unpacked", path=str(tmp_path / "cut.zip"), **options)
    flipped = bytearray(content)
    flipped[60] ^= 0xFF
    (tmp_path / "flip.zip").write_bytes(flipped)
    refused(r"flip\.zip!a\.csv cannot be unpacked", path=str(tmp_path / "flip.zip"), **options)
    locked = bytearray(content)
    for signature, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        locked[content.index(signature) + at] |= 1
    (tmp_path / "locked.zip").write_bytes(locked)
    refused(r"locked\.zip.* is encrypted", path=str(tmp_path / "locked.zip"), **options)
    import gzip

    (tmp_path / "x.gz").write_bytes(gzip.compress(b"x,1\n" * 1000)[:-20])
    refused(r"x\.gz", path=str(tmp_path / "x.gz"), **{**options, "archive_compress_codec": "gz"})


# ---------------------------------------------------------------- formats


def test_a_truncated_parquet_file_is_named(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": ["x"] * 1000}), tmp_path / "p.parquet")
    content = (tmp_path / "p.parquet").read_bytes()
    (tmp_path / "p.parquet").write_bytes(content[: len(content) // 2])

    refused(r"p\.parquet cannot be read as Parquet", path=str(tmp_path), file_format_type="parquet")


def test_a_value_beyond_the_declared_type_is_not_cut(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": ["x"], "n": pa.array([2**40])}), tmp_path / "p.parquet")

    refused(
        r"column 'n': int64 does not fit int: Integer value 1099511627776 not in range",
        path=str(tmp_path),
        file_format_type="parquet",
        schema=FIELDS,
    )


BILLION = b"""<!DOCTYPE R [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c SYSTEM "file:///etc/passwd">]>
<R><RECORD><a>&%s;</a><n>1</n></RECORD></R>"""


@pytest.mark.parametrize("entity", [b"b", b"c"])
@pytest.mark.parametrize("attributes", [True, False])
def test_entities_of_a_document_are_not_expanded(entity: bytes, attributes: bool, tmp_path: Path) -> None:
    content = BILLION % entity
    if attributes:
        content = content.replace(
            b"<RECORD><a>&%s;</a><n>1</n></RECORD>" % entity, b"<RECORD a='&%s;' n='1'/>" % entity
        )
    (tmp_path / "f.xml").write_bytes(content)

    with pytest.raises(FatalError, match=r"f\.xml"):
        read(
            path=str(tmp_path),
            file_format_type="xml",
            schema=FIELDS,
            xml_row_tag="RECORD",
            xml_use_attr_format=attributes,
        )


def test_binary_names_that_lead_out_are_refused(tmp_path: Path) -> None:
    table = TableSchema(
        TablePath("", "", "t"),
        (
            Column("data", DataType(Kind.BYTES)),
            Column("relativePath", DataType(Kind.STRING)),
            Column("partIndex", DataType(Kind.BIGINT)),
        ),
    )
    for name in ("../x", "/etc/x", "a/../../x", ".seatunnel/x", ""):
        data = pa.RecordBatch.from_arrays([pa.array([b"x"]), pa.array([name]), pa.array([0])], schema=table.arrow())
        with pytest.raises(FatalError, match="leads out of the sink's directory"):
            write(table, [data], path=str(tmp_path / "out"), file_format_type="binary")
    assert not (tmp_path / "x").exists()


# ---------------------------------------------------------------- what is read at all


def test_files_are_filtered_by_the_time_of_their_change(tmp_path: Path) -> None:
    """From the first time on, and before the second."""
    for second in range(3):
        file = tmp_path / f"{second}.csv"
        file.write_text(f"{second},1\n")
        changed = datetime(2024, 1, 2, 3, 4, second).astimezone().timestamp()
        os.utime(file, (changed, changed))
    options = {"path": str(tmp_path), "file_format_type": "csv", "schema": FIELDS}

    def names(**more: str) -> list[str]:
        return [row["a"] for row in rows(**options, **more)]

    first, last = "2024-01-02 03:04:01", "2024-01-02 03:04:02"
    assert names(file_filter_modified_start=first) == ["1", "2"]
    assert names(file_filter_modified_end=last) == ["0", "1"]
    assert names(file_filter_modified_start=first, file_filter_modified_end=last) == ["1"]
    with pytest.raises(ValueError, match="is not a time of the form yyyy-MM-dd HH:mm:ss"):
        names(file_filter_modified_start="2024-01-02")


def test_filters_and_hidden_files(tmp_path: Path) -> None:
    for name in ("a.csv", "b.txt", ".hidden.csv", "_SUCCESS", "p=1/c.csv", ".staging/d.csv", "p=2/e.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"{name},1\n")
    (tmp_path / "empty.csv").touch()
    options = {"path": str(tmp_path), "file_format_type": "csv", "schema": FIELDS}

    def names(**more: Any) -> list[str]:
        return [row["a"] for row in rows(**options, **more)]

    assert names() == ["a.csv", "b.txt", "p=1/c.csv", "p=2/e.csv"]
    assert names(filename_extension=".csv") == ["a.csv", "p=1/c.csv", "p=2/e.csv"]
    assert names(file_filter_pattern="[a-c]\\.(csv|txt)") == ["a.csv", "b.txt", "p=1/c.csv"]
    assert names(file_filter_pattern=r"(?<name>\p{Lower})\Q.\E(csv|txt)") == names(
        file_filter_pattern="[a-z]\\.(csv|txt)"
    )
    assert names(file_filter_pattern=".*/p=2/.*") == ["p=2/e.csv"]
    assert names(read_partitions=["p=1", "p=2"]) == ["p=1/c.csv", "p=2/e.csv"]
    assert names(recursive_file_scan=False) == ["a.csv", "b.txt"]
    assert rows(**options)[2] == {"a": "p=1/c.csv", "n": 1, "p": "1"}
    assert rows(**options)[0]["p"] is None
    assert "p" not in rows(parse_partition_from_path=False, **options)[2]


def test_options_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValidationError, match="exactly one of path or tables_configs"):
        source(file_format_type="csv")
    with pytest.raises(ValidationError, match="path and file_format_type must be given together"):
        source(path="/x")
    with pytest.raises(ValidationError, match="xml_row_tag is required"):
        source(path="/x", file_format_type="xml", schema=FIELDS)
    with pytest.raises(ValidationError, match="is not a regular expression"):
        source(path="/x", file_format_type="csv", file_filter_pattern="(")
    with pytest.raises(ValidationError, match="unknown encoding"):
        source(path="/x", file_format_type="csv", encoding="utf-99")
    with pytest.raises(ValidationError, match="'QQ' is not supported"):
        source(path="/x", file_format_type="csv", date_format="yyyy-QQ")
    with pytest.raises(ValueError, match="declared twice"):
        source(tables_configs=[{"path": "/x", "file_format_type": "csv"}, {"path": "/y", "file_format_type": "csv"}])


def test_missing_things_are_named(tmp_path: Path) -> None:
    refused("there is no file or directory", path=str(tmp_path / "no"), file_format_type="csv")
    (tmp_path / "f.json").write_text("{}\n")
    refused("the format json needs a schema", path=str(tmp_path), file_format_type="json")
    refused(
        "no column 'aa'; did you mean 'a'",
        path=str(tmp_path),
        file_format_type="json",
        schema=FIELDS,
        read_columns=["aa"],
    )
    (tmp_path / "f.csv").write_text("x,n\n1,2\n")
    refused(
        "the header has no column 'a'; it names x, n",
        path=str(tmp_path / "f.csv"),
        file_format_type="csv",
        schema=FIELDS,
        csv_use_header_line=True,
    )
    refused(
        "has no sheet 'nope'; it has test",
        path=str(conformance("data", "read", "excel_filter")),
        file_format_type="excel",
        schema=FIELDS,
        sheet_name="nope",
    )


@pytest.mark.parametrize("kind", ["parquet", "orc", "csv"])
def test_a_column_that_only_a_later_file_has_is_not_lost_without_a_word(kind: str, tmp_path: Path) -> None:
    """I1: nobody chose the columns, so they are the first file's."""
    first, later = pa.table({"id": [1], "a": ["x"]}), pa.table({"id": [2], "a": ["y"], "b": ["z"]})
    for name, table in (("1", first), ("2", later)):
        path = tmp_path / f"{name}.{kind}"
        match kind:
            case "parquet":
                pq.write_table(table, path)
            case "orc":
                orc.write_table(table, path)
            case _:
                csv.write_csv(table, path)
    given: dict[str, Any] = {"path": str(tmp_path), "file_format_type": kind, "csv_use_header_line": kind == "csv"}

    with pytest.raises(FatalError, match=rf"2\.{kind} has columns that the first file does not have: b"):
        read(**given)

    assert [row["a"] for row in rows(**given, read_columns=["id", "a"])] == ["x", "y"]


def test_a_column_that_is_never_null_is_not_made_null(tmp_path: Path) -> None:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("a", pa.string())])
    pq.write_table(pa.table({"id": [1], "a": ["x"]}, schema=schema), tmp_path / "1.parquet")
    pq.write_table(pa.table({"a": ["y"]}), tmp_path / "2.parquet")

    with pytest.raises(FatalError, match=r"2\.parquet has no column 'id', which is never null in the first file"):
        read(path=str(tmp_path), file_format_type="parquet")


def test_a_column_that_a_later_file_does_not_have_is_null_there(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [1], "a": ["x"]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"id": [2]}), tmp_path / "2.parquet")

    found = rows(path=str(tmp_path), file_format_type="parquet")

    assert [(row["id"], row["a"]) for row in found] == [(1, "x"), (2, None)]


# ---------------------------------------------------------------- copying only what is new


def copied_anew(source_path: Path, target: Path, **more: Any) -> list[str]:
    """Names of the files that a job of sync_mode = update would read."""
    found = rows(path=str(source_path), file_format_type="binary", sync_mode="update", target_path=str(target), **more)
    return sorted({row["relativePath"] for row in found})


def test_an_update_reads_what_the_target_lacks_or_has_older(tmp_path: Path) -> None:
    """Equal size and no older is enough for distcp; strict wants the same time, or with checksum the same bytes."""
    mine, theirs = tmp_path / "mine", tmp_path / "theirs"
    for name, here, there, older_there in (
        ("sub/missing.bin", b"abc", None, 0),
        ("longer.bin", b"abcd", b"abc", 0),
        ("newer.bin", b"abc", b"abc", 100),
        ("changed.bin", b"abc", b"xyz", -100),
        ("equal.bin", b"abc", b"abc", 0),
    ):
        for root, content, age in ((mine, here, 0), (theirs, there, older_there)):
            if content is not None:
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_bytes(content)
                os.utime(root / name, (1_700_000_000 - age, 1_700_000_000 - age))

    lacking = ["longer.bin", "sub/missing.bin"]
    assert copied_anew(mine, theirs) == sorted([*lacking, "newer.bin"])
    assert copied_anew(mine, theirs, update_strategy="strict") == sorted([*lacking, "newer.bin", "changed.bin"])
    by_content = {"update_strategy": "strict", "compare_mode": "checksum"}
    assert copied_anew(mine, theirs, **by_content) == sorted([*lacking, "changed.bin"])
    assert copied_anew(mine / "newer.bin", theirs, **by_content) == []
    assert copied_anew(mine / "newer.bin", tmp_path / "nowhere") == ["newer.bin"]


def test_an_update_that_cannot_be_is_refused() -> None:
    binary = {"path": "/x", "file_format_type": "binary"}
    with pytest.raises(ValidationError, match="target_path is required"):
        source(**binary, sync_mode="update")
    with pytest.raises(ValidationError, match="only with the format binary"):
        source(path="/x", file_format_type="csv", sync_mode="update", target_path="/y")
    with pytest.raises(ValidationError, match="needs update_strategy = strict"):
        source(**binary, sync_mode="update", target_path="/y", compare_mode="checksum")
    with pytest.raises(ValidationError, match="run the job again from a timer"):
        source(**binary, discovery_mode="continuous")
    more = {"scan_interval": "10S", "start_mode": "latest", "retention_max_age": "7D", "backup_path": "/z"}
    with pytest.raises(ValidationError) as caught:
        source(**binary, discovery_mode="continuous", post_sync_action="backup", **more)
    assert caught.value.error_count() == 1
    assert "run the job again from a timer" in str(caught.value)  # and not that its other options are unknown
    with pytest.raises(ValidationError, match="post_sync_action = delete goes with discovery_mode"):
        source(**binary, post_sync_action="delete")


def test_the_newest_file_is_first_and_names_the_columns(tmp_path: Path) -> None:
    """As SeaTunnel sorts by time of change: of files whose columns grew, the latest says what the table has."""
    for age, (name, columns) in enumerate((("b", "anm"), ("a", "an"))):
        file = tmp_path / f"{name}.parquet"
        pq.write_table(pa.table({column: [name] for column in columns}), file)
        os.utime(file, (1_700_000_000 - age, 1_700_000_000 - age))

    found = rows(path=str(tmp_path), file_format_type="parquet", sort_files_by_modification_time=True)

    assert found == [{"a": "b", "n": "b", "m": "b"}, {"a": "a", "n": "a", "m": None}]
