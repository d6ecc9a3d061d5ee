"""Nothing is visible before the commit, everything after it, once, whatever happened in between."""

from __future__ import annotations

import errno
import gc
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from files_support import LINEAGE, commit, read, rows, sink, stage, visible, write
from pydantic import ValidationError

from seatunnel_connectors.files.storage import LocalFiles
from seatunnel_py.api import (
    BadRowsError,
    Batch,
    Column,
    CommitContext,
    DataType,
    FatalError,
    Kind,
    Piece,
    PrimaryKey,
    RetriableError,
    TablePath,
    TableSchema,
    WriteContext,
    parse_type,
)

TABLE = TableSchema(
    TablePath("db", "", "t"),
    tuple(Column(n, parse_type(k)) for n, k in (("id", "bigint"), ("name", "string"), ("day", "date"))),
    PrimaryKey(("id",)),
)
DECLARED = {"fields": {"id": "bigint", "name": "string", "day": "date"}}


def batch(*ids: int, name: str = "n") -> pa.RecordBatch:
    data = [list(ids), [f"{name}{i % 3}" for i in ids], [None] * len(ids)]
    arrays = [pa.array(v, f.type) for v, f in zip(data, TABLE.arrow(), strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=TABLE.arrow())


def ids_in(path: Path, kind: str = "json") -> list[int]:
    return sorted(row["id"] for row in rows(path=str(path), file_format_type=kind, schema=DECLARED))


def test_staged_files_are_invisible_until_the_commit_and_nothing_else_is_left(tmp_path: Path) -> None:
    made = sink(TABLE, path=str(tmp_path / "out"), file_format_type="json")
    pieces = [stage(made, [batch(1, 2)], "a@"), stage(made, [batch(3)], "b@"), stage(made, [], "c@")]
    assert ids_in(tmp_path / "out") == []
    assert [piece.rows for piece in pieces] == [2, 1, 0]

    commit(made, pieces)
    assert ids_in(tmp_path / "out") == [1, 2, 3]
    assert len(visible(tmp_path / "out")) == 2
    assert not (tmp_path / "out" / ".seatunnel").exists()


def test_a_commit_may_be_repeated(tmp_path: Path) -> None:
    made = sink(TABLE, path=str(tmp_path), file_format_type="json")
    pieces = [stage(made, [batch(1, 2)], "a@"), stage(made, [batch(3)], "b@")]
    for _ in range(3):
        commit(made, pieces)

    assert ids_in(tmp_path) == [1, 2, 3]


@pytest.mark.parametrize("crash_at", range(8))
def test_a_crash_between_any_two_steps_of_a_commit_is_made_good(
    crash_at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = sink(TABLE, path=str(tmp_path), file_format_type="json", partition_by=["name"])
    pieces = [stage(made, [batch(1, 2, 3)], "a@"), stage(made, [batch(4)], "b@")]
    steps = 0

    def crashing(real: Any) -> Any:
        def step(*arguments: Any, **named: Any) -> Any:
            nonlocal steps
            steps += 1
            if steps == crash_at:
                raise KeyboardInterrupt
            return real(*arguments, **named)

        return step

    with monkeypatch.context() as patched:
        for name in ("rename", "sync_directory", "delete_tree"):
            patched.setattr(LocalFiles, name, crashing(getattr(LocalFiles, name)))
        if crash_at:
            with pytest.raises(KeyboardInterrupt):
                commit(made, pieces)
    commit(made, pieces)

    assert ids_in(tmp_path) == [1, 2, 3, 4]
    assert not (tmp_path / ".seatunnel").exists()


def test_what_older_drivers_have_staged_is_swept_by_a_job_without_end(tmp_path: Path) -> None:
    """Only once a checkpoint of the newer driver's own units is committed: until then an older one may name it."""
    made = sink(TABLE, path=str(tmp_path), file_format_type="json")
    named, orphan = stage(made, [batch(1)], "a@"), stage(made, [batch(2)], "b@")
    mine = stage(made, [batch(3)], "c@", incarnation=2)

    def commit_as_second(checkpoint: int, piece: Piece) -> None:
        made.committer().commit([piece], CommitContext("job", LINEAGE, "write", checkpoint, 2, final=False))

    commit_as_second(1, named)
    assert Path(str(orphan.data["directory"])).exists()
    commit_as_second(2, mine)

    assert not Path(str(orphan.data["directory"])).exists()
    assert ids_in(tmp_path) == [1, 3]


def test_a_lost_file_is_an_error_never_success(tmp_path: Path) -> None:
    made = sink(TABLE, path=str(tmp_path), file_format_type="json")
    piece = stage(made, [batch(1)])
    shutil.rmtree(tmp_path / ".seatunnel")
    with pytest.raises(FatalError, match="LOST"):
        commit(made, [piece])

    piece = stage(made, [batch(1)])
    commit(made, [piece])
    visible(tmp_path)[0].write_text("{}\n")
    with pytest.raises(FatalError, match="is not what was staged"):
        commit(made, [piece])


def test_two_attempts_and_a_dead_one_do_not_meet(tmp_path: Path) -> None:
    made = sink(TABLE, path=str(tmp_path), file_format_type="json")
    dead = made.open(WriteContext("job", LINEAGE, "write", "a@", attempt=0))
    dead.write(Batch(TABLE.path, batch(1, 2)))
    first = stage(made, [batch(1, 2)], "a@", attempt=1)
    second = stage(made, [batch(1, 2)], "a@", epoch=1)
    made.committer().abort([first], CommitContext("job", LINEAGE, "write", 1, final=False))
    commit(made, [second])

    assert ids_in(tmp_path) == [1, 2]
    assert not (tmp_path / ".seatunnel").exists()
    dead.abort()


@pytest.mark.parametrize(
    "options", [{}, {"single_file_mode": True, "file_name_expression": "x"}, {"partition_by": ["name"]}]
)
def test_a_run_that_is_given_up_leaves_nothing_behind(tmp_path: Path, options: dict[str, Any]) -> None:
    """Not even what a worker that was killed had begun, of which nobody was told."""
    made = sink(TABLE, path=str(tmp_path), file_format_type="json", **options)
    killed = [made.open(WriteContext("job", LINEAGE, "write", "a@", incarnation=n, attempt=2)) for n in (1, 2)]
    for writer in killed:
        writer.write(Batch(TABLE.path, batch(1, 2)))
    staged = stage(made, [batch(3)], "b@", incarnation=2)

    made.committer().abort([staged], CommitContext("job", LINEAGE, "write", 1, incarnation=2))

    assert list(tmp_path.rglob("*")) == []
    for writer in killed:
        writer.abort()


def test_what_a_newer_run_has_begun_outlives_the_end_of_an_older_one(tmp_path: Path) -> None:
    made = sink(TABLE, path=str(tmp_path), file_format_type="json")
    older, newer = (stage(made, [batch(n)], f"{n}@", incarnation=n) for n in (1, 2))

    made.committer().abort([older], CommitContext("job", LINEAGE, "write", 1, incarnation=1))
    commit(made, [newer])

    assert ids_in(tmp_path) == [2]


def test_the_same_rows_get_the_same_names_and_no_others_do(tmp_path: Path) -> None:
    made = sink(TABLE, path=str(tmp_path), file_format_type="json", batch_size=2)
    names = [
        [str(file["final"]) for file in stage(made, [batch(1, 2, 3)], data_id, attempt=n).data["files"]]  # type: ignore[union-attr, index, call-overload]
        for n, data_id in enumerate(["a@", "a@", "b@"])
    ]

    assert names[0] == names[1]
    assert not set(names[0]) & set(names[2])
    assert [name[-7:] for name in names[0]] == ["_0.json", "_1.json"]


def test_names_follow_the_expression_and_stay_apart_without_a_transaction(tmp_path: Path) -> None:
    options = {"file_name_expression": "${transactionId}_${now}", "filename_time_format": "yyyy"}
    write(TABLE, [batch(1)], path=str(tmp_path / "a"), **options)
    assert visible(tmp_path / "a")[0].name.startswith("T_job_")
    assert visible(tmp_path / "a")[0].name.endswith("_0.csv")

    made = sink(TABLE, path=str(tmp_path / "b"), file_name_expression="x", is_enable_transaction=False)
    commit(made, [stage(made, [batch(n)], f"{n}@") for n in range(3)])
    assert len(visible(tmp_path / "b")) == 3

    with pytest.raises(ValidationError, match="must contain"):
        sink(TABLE, path=str(tmp_path), file_name_expression="x")
    with pytest.raises(FatalError, match="which no file can have"):
        write(TABLE, [batch(1)], path=str(tmp_path), file_name_expression="../${transactionId}")


def test_partitions_make_directories_that_are_read_back(tmp_path: Path) -> None:
    names = ["a/b", "../../etc", "x=y", None, "__HIVE_DEFAULT_PARTITION__", "你好", "a/b", ".hidden", "100%"]
    data = pa.RecordBatch.from_arrays(
        [pa.array(range(9)), pa.array(names), pa.nulls(9, pa.date32())], schema=TABLE.arrow()
    )
    write(TABLE, [data, data], path=str(tmp_path), file_format_type="parquet", partition_by=["name"])

    assert all(tmp_path in file.resolve().parents for file in visible(tmp_path))
    schema, table = read(path=str(tmp_path), file_format_type="parquet")
    assert schema.names == ("id", "day", "name")
    found = sorted((row["id"], row["name"]) for row in table.to_pylist())
    assert found == sorted([*enumerate(names)] * 2, key=lambda pair: pair[0])


def test_values_of_several_partition_columns_stay_apart(tmp_path: Path) -> None:
    """A control character inside of a value moved the values of the columns behind it."""
    table = TableSchema(
        TablePath("", "", "t"), tuple(Column(name, DataType(Kind.STRING)) for name in ("a", "b=c", "v"))
    )
    values = [("x\x1fy", "z", "1"), ("x", "y\x1fz", "2"), (None, "y", "3"), ("x", None, "4"), (None, None, "5")]
    data = pa.RecordBatch.from_arrays([pa.array(column) for column in zip(*values, strict=True)], schema=table.arrow())
    write(table, [data], path=str(tmp_path), file_format_type="csv", partition_by=["a", "b=c"])

    schema = {"fields": {"v": "string"}}
    found = rows(path=str(tmp_path), file_format_type="csv", schema=schema)
    assert sorted((row["v"], row["a"], row["b=c"]) for row in found) == [(v, a, b) for a, b, v in values]


def test_an_empty_text_is_no_null_in_a_partition(tmp_path: Path) -> None:
    """Hive's name for null was the name of an empty text as well."""
    data = batch(1).set_column(1, "name", pa.array([""]))
    with pytest.raises(BadRowsError, match="column 'name': an empty text and null have the same name"):
        write(TABLE, [data], path=str(tmp_path / "a"), file_format_type="parquet", partition_by=["name"])

    kept = {"file_format_type": "parquet", "partition_by": ["name"], "is_partition_field_write_in_file": True}
    write(TABLE, [data], path=str(tmp_path / "b"), **kept)
    assert [row["name"] for row in rows(path=str(tmp_path / "b"), file_format_type="parquet")] == [""]


def test_bytes_that_are_no_text_in_a_partition_s_name(tmp_path: Path) -> None:
    write(TABLE, [batch(1)], path=str(tmp_path / "name=%FF"), file_format_type="parquet")
    with pytest.raises(FatalError, match="'%FF' escapes bytes that are not UTF-8"):
        read(path=str(tmp_path), file_format_type="parquet")


def test_partition_columns_may_be_kept_in_the_file(tmp_path: Path) -> None:
    options = {
        "file_format_type": "json",
        "have_partition": True,
        "partition_by": ["name", "id"],
        "partition_dir_expression": "by/${k0}-${v0}",
    }
    write(TABLE, [batch(1, 2)], path=str(tmp_path / "a"), is_partition_field_write_in_file=True, **options)
    assert {f.parent.relative_to(tmp_path / "a").as_posix() for f in visible(tmp_path / "a")} == {
        "by/name-n1",
        "by/name-n2",
    }
    assert '"name":"n1"' in visible(tmp_path / "a")[0].read_text()

    write(
        TABLE,
        [batch(1)],
        path=str(tmp_path / "b"),
        file_format_type="json",
        have_partition=False,
        partition_by=["name"],
    )
    assert visible(tmp_path / "b")[0].parent == tmp_path / "b"


def test_a_partition_expression_names_columns_that_are_there(tmp_path: Path) -> None:
    """`${k1}` of one column would become a directory of that name. The documentation's own spelling of the default is
    the default."""
    default = "${k0}=${v0}/${k1}=${v1}/.../${kn}=${vn}/"
    options = {"file_format_type": "csv", "partition_by": ["name"]}
    write(TABLE, [batch(1)], path=str(tmp_path), partition_dir_expression=default, **options)

    assert [file.parent.name for file in visible(tmp_path)] == ["name=n1"]
    with pytest.raises(ValueError, match=r"there is no \$\{k1\}, for partition_by names one column"):
        sink(TABLE, path=str(tmp_path), partition_dir_expression="${k0}=${v0}/${k1}=${v1}", **options)


def test_columns_are_found_whatever_their_case(tmp_path: Path) -> None:
    """As in SeaTunnel; the file keeps the table's spelling, and columns that differ in case only are told apart."""
    options = {"file_format_type": "csv", "enable_header_write": True}
    write(TABLE, [batch(1)], path=str(tmp_path / "a"), sink_columns=["NAME", "Id"], **options)
    write(TABLE, [batch(1)], path=str(tmp_path / "b"), partition_by=["NAME"], **options)

    assert visible(tmp_path / "a")[0].read_text() == "name,id\nn1,1\n"
    assert [file.parent.name for file in visible(tmp_path / "b")] == ["name=n1"]
    twins = TableSchema(TABLE.path, tuple(Column(name, parse_type("int")) for name in ("a", "A")))
    with pytest.raises(ValueError, match="there is no column 'Á'"):
        sink(twins, path=str(tmp_path), sink_columns=["Á"])
    write(twins, [pa.record_batch([[1], [2]], schema=twins.arrow())], path=str(tmp_path / "c"), sink_columns=["A"])
    assert visible(tmp_path / "c")[0].read_text() == "2\n"


def test_the_time_pattern_itself_may_stand_in_a_name(tmp_path: Path) -> None:
    """Older job files write `${yyyy.MM}` where newer ones write `${now}`."""
    name = "${transactionId}_${yyyy}"
    write(TABLE, [batch(1)], path=str(tmp_path), file_name_expression=name, filename_time_format="yyyy")

    assert re.fullmatch(r"T_.*_20\d\d_0\.csv", visible(tmp_path)[0].name)


def test_many_partitions_keep_few_files_open(tmp_path: Path) -> None:
    data = [batch(*range(n, n + 50)) for n in range(0, 150, 50)]
    write(TABLE, data, path=str(tmp_path), file_format_type="csv", partition_by=["id"])

    found = rows(path=str(tmp_path), file_format_type="csv", schema={"fields": {"name": "string", "day": "date"}})
    assert sorted(int(row["id"]) for row in found) == list(range(150))


def test_rows_per_file_and_columns_are_as_asked_for(tmp_path: Path) -> None:
    write(TABLE, [batch(*range(10)), batch(10)], path=str(tmp_path), batch_size=4, sink_columns=["name", "id"])

    assert [file.read_text().count("\n") for file in visible(tmp_path)] == [4, 4, 3]
    assert visible(tmp_path)[0].read_text().splitlines()[1] == "n1,1"


def test_rows_before_an_update_are_left_out_only_when_asked(tmp_path: Path) -> None:
    kinds = pa.array([0, 1, 2, 3], pa.uint8())
    for merge, wanted in ((False, [1, 2, 3, 4]), (True, [1, 3, 4])):
        path = tmp_path / str(merge)
        made = sink(TABLE, path=str(path), file_format_type="json", merge_update_event=merge)
        writer = made.open(WriteContext("job", LINEAGE, "write", "a@"))
        writer.write(Batch(TABLE.path, batch(1, 2, 3, 4), kinds=kinds))
        piece = writer.stage()
        commit(made, [piece])

        assert (piece.rows, piece.merged) == (4, 4 - len(wanted))
        assert ids_in(path) == wanted


@pytest.mark.parametrize(
    ("kind", "came", "went"),
    [
        ("canal_json", '{"data":%s,"type":"INSERT"}', '{"data":%s,"type":"DELETE"}'),
        ("maxwell_json", '{"data":%s,"type":"INSERT"}', '{"data":%s,"type":"DELETE"}'),
        ("debezium_json", '{"before":null,"after":%s,"op":"c"}', '{"before":%s,"after":null,"op":"d"}'),
    ],
)
@pytest.mark.parametrize("more", [{}, {"single_file_mode": True}, {"partition_by": ["name"]}])
def test_formats_of_change_logs_keep_what_became_of_a_row(
    kind: str, came: str, went: str, more: dict[str, Any], tmp_path: Path
) -> None:
    """As in Kafka: a change is a row that went and one that came. Also where rows wait for a common file, or are dealt
    out to several."""
    made = sink(TABLE, path=str(tmp_path), file_format_type=kind, sink_columns=["id", "name"], **more)
    writer = made.open(WriteContext("job", LINEAGE, "write", "a@"))
    writer.write(Batch(TABLE.path, batch(1, 4), kinds=None))
    writer.write(Batch(TABLE.path, batch(7, 10, 13, 16), kinds=pa.array([0, 1, 2, 3], pa.uint8())))
    commit(made, [writer.stage()])

    row = '{"id":%d}' if more.get("partition_by") else '{"id":%d,"name":"n1"}'
    [file] = [file for file in visible(tmp_path) if ".seatunnel" not in file.parts]
    wanted = [(1, came), (4, came), (7, came), (10, went), (13, came), (16, went)]
    assert file.read_text().splitlines() == [shape % (row % number) for number, shape in wanted]


@pytest.mark.parametrize(
    ("kind", "came", "went", "changed"),
    [
        ("canal_json", '"INSERT"', '"DELETE"', '{"old":{"id":10},"data":{"id":13},"type":"UPDATE"}'),
        ("maxwell_json", '"INSERT"', '"DELETE"', '{"old":{"id":10},"data":{"id":13},"type":"UPDATE"}'),
        ("debezium_json", '"c"', '"d"', '{"before":{"id":10},"after":{"id":13},"op":"u"}'),
    ],
)
@pytest.mark.parametrize("more", [{}, {"single_file_mode": True}, {"partition_by": ["name"]}])
def test_an_update_of_a_change_log_is_one_message_when_asked(
    kind: str, came: str, went: str, changed: str, more: dict[str, Any], tmp_path: Path
) -> None:
    """With the row as it was. What has no other half in the same batch went, or came."""
    columns = ["id", *more.get("partition_by", ())]
    made = sink(TABLE, path=str(tmp_path), file_format_type=kind, merge_update_event=True, sink_columns=columns, **more)
    writer = made.open(WriteContext("job", LINEAGE, "write", "a@"))
    writer.write(Batch(TABLE.path, batch(4), kinds=pa.array([2], pa.uint8())))
    writer.write(Batch(TABLE.path, batch(7, 10, 13, 16, 19), kinds=pa.array([0, 1, 2, 3, 1], pa.uint8())))
    piece = writer.stage()
    commit(made, [piece])

    [file] = [file for file in visible(tmp_path) if ".seatunnel" not in file.parts]
    lines = file.read_text().splitlines()
    assert (piece.rows, piece.merged) == (6, 0)  # both rows of the change are in the file
    assert [line for line in lines if "UPDATE" in line or '"u"' in line] == [changed]
    assert [came in line for line in lines] == [True, True, False, False, False]
    assert [went in line for line in lines] == [False, False, False, True, True]


@pytest.mark.parametrize("more", [{}, {"single_file_mode": True}, {"file_format_type": "debezium_json"}])
def test_rows_with_absent_cells_are_refused(more: dict[str, Any], tmp_path: Path) -> None:
    made = sink(TABLE, path=str(tmp_path), **{"file_format_type": "json", **more})
    writer = made.open(WriteContext("job", LINEAGE, "write", "a@"))
    marks = [pa.array([False, at == 1]) for at in range(3)]
    absent = pa.RecordBatch.from_arrays(marks, names=TABLE.names)

    with pytest.raises(FatalError, match=r"table db.*t: the source sent rows with absent cells, and files need whole"):
        writer.write(Batch(TABLE.path, batch(1, 2), absent=absent))
    writer.abort()


def test_an_update_that_moves_a_row_to_another_partition_stays_two_messages(tmp_path: Path) -> None:
    """Else nobody who reads the one partition would learn that the row is gone."""
    made = sink(
        TABLE, path=str(tmp_path), file_format_type="debezium_json", merge_update_event=True, partition_by=["id"],
        sink_columns=["id", "name"],
    )  # fmt: skip
    writer = made.open(WriteContext("job", LINEAGE, "write", "a@"))
    writer.write(Batch(TABLE.path, batch(1, 2, 2, 2), kinds=pa.array([1, 2, 1, 2], pa.uint8())))
    commit(made, [writer.stage()])

    found = {file.parent.name: [json.loads(line)["op"] for line in file.read_text().splitlines()]
             for file in visible(tmp_path)}  # fmt: skip
    assert found == {"id=1": ["d"], "id=2": ["c", "u"]}


def test_formats_of_change_logs_are_not_read() -> None:
    with pytest.raises(ValidationError, match="Input should be 'text', 'csv'"):
        rows(path="/nowhere", file_format_type="canal_json")


@pytest.mark.parametrize("kind", ["text", "csv", "json", "parquet", "orc", "excel", "xml", "single"])
def test_an_aborted_unit_leaves_nothing(kind: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    options: dict[str, Any] = {"file_format_type": kind}
    if kind == "single":
        options = {"file_format_type": "csv", "single_file_mode": True}
    if kind == "xml":
        options["xml_use_attr_format"] = True
    if kind in ("csv", "json"):
        options["compress_codec"] = "gzip"
    made = sink(TABLE, path=str(tmp_path), **options)
    writer = made.open(WriteContext("job", LINEAGE, "write", "a@"))
    writer.write(Batch(TABLE.path, batch(1, 2)))
    writer.abort()
    del writer
    gc.collect()

    assert visible(tmp_path) == []
    assert capfd.readouterr() == ("", "")


# ---------------------------------------------------------------- start


def test_start_effects_say_what_they_destroy(tmp_path: Path) -> None:
    path = tmp_path / "out"
    made = write(TABLE, [batch(1)], path=str(path), file_format_type="json")
    assert made.plan_setup().effects == ()

    dropping = sink(TABLE, path=str(path), file_format_type="json", data_save_mode="DROP_DATA")
    setup = dropping.plan_setup()
    assert [(effect.action, effect.destructive) for effect in setup.effects] == [("delete files", True)]
    dropping.setup(setup)
    dropping.setup(setup)
    assert [file.parent.name for file in visible(path)] == [".seatunnel"], "the run's mark"

    write(TABLE, [batch(2)], path=str(path), file_format_type="json")
    again = sink(TABLE, path=str(path), file_format_type="json", schema_save_mode="RECREATE_SCHEMA")
    assert again.plan_setup().effects[0].destructive
    write(TABLE, [batch(3)], path=str(path), file_format_type="json", schema_save_mode="RECREATE_SCHEMA")
    assert ids_in(path) == [3]


def test_targets_that_do_not_fit_are_refused_before_the_start(tmp_path: Path) -> None:
    with pytest.raises(FatalError, match="sink table not exist"):
        sink(TABLE, path=str(tmp_path / "no"), schema_save_mode="ERROR_WHEN_SCHEMA_NOT_EXIST").plan_setup()
    write(TABLE, [batch(1)], path=str(tmp_path / "out"))
    with pytest.raises(FatalError, match="holds data already"):
        sink(TABLE, path=str(tmp_path / "out"), data_save_mode="ERROR_WHEN_DATA_EXISTS").plan_setup()
    with pytest.raises(ValidationError, match="CUSTOM_PROCESSING runs SQL"):
        sink(TABLE, path=str(tmp_path / "out"), data_save_mode="CUSTOM_PROCESSING")
    with pytest.raises(FatalError, match="is a file"):
        sink(TABLE, path=str(visible(tmp_path / "out")[0])).plan_setup()
    with pytest.raises(FatalError, match="refusing to delete"):
        sink(TABLE, path="/", schema_save_mode="RECREATE_SCHEMA").plan_setup()
    with pytest.raises(ValueError, match="no column 'nam'; did you mean 'name'"):
        sink(TABLE, path=str(tmp_path), sink_columns=["nam"])
    with pytest.raises(ValidationError, match="orc cannot be written with gzip"):
        sink(TABLE, path=str(tmp_path), file_format_type="orc", compress_codec="gzip")
    with pytest.raises(ValueError, match="'a b' cannot be the name"):
        sink(TABLE, path=str(tmp_path), file_format_type="xml", xml_use_attr_format=True, xml_row_tag="a b")


def test_a_temporary_path_is_used_on_the_same_file_system(tmp_path: Path) -> None:
    made = sink(TABLE, path=str(tmp_path / "out"), tmp_path=str(tmp_path / "tmp"), file_format_type="json")
    setup = made.plan_setup()
    made.setup(setup)
    piece = stage(made, [batch(1)], setup=setup.data)
    assert str(piece.data["directory"]).startswith(str(tmp_path / "tmp" / "seatunnel"))

    context = CommitContext("job", LINEAGE, "write", 1, setup=setup.data)
    made.committer().commit([piece], context)
    assert ids_in(tmp_path / "out") == [1]
    assert visible(tmp_path / "tmp") == []


# ---------------------------------------------------------------- single file, empty file


@pytest.mark.parametrize("kind", ["csv", "parquet", "json", "excel"])
def test_one_file_is_put_together_when_the_job_ends(kind: str, tmp_path: Path) -> None:
    options = {"enable_header_write": True} if kind == "csv" else {}
    made = sink(
        TABLE, path=str(tmp_path), file_format_type=kind, single_file_mode=True, file_name_expression="all", **options
    )
    first = [stage(made, [batch(1, 2)], "a@"), stage(made, [batch(3)], "b@")]
    commit(made, first, 1, final=False)
    commit(made, first, 1, final=False)
    assert [file.name for file in tmp_path.iterdir()] == [".seatunnel"]

    second = [stage(made, [batch(4)], "a@1")]
    commit(made, second, 2)
    for pieces, checkpoint in ((second, 2), (first, 1), (second, 2)):  # a record may still name both
        commit(made, pieces, checkpoint, final=checkpoint == 2)

    assert [file.name for file in visible(tmp_path / ".seatunnel")] == ["composed-2.json"]
    ending = {"excel": "xlsx"}.get(kind, kind)
    assert [file.name for file in tmp_path.iterdir() if file.is_file()] == [f"all.{ending}"]
    extra = {"csv": {"csv_use_header_line": True}, "excel": {"skip_header_row_number": 1}}.get(kind, {})
    found = rows(path=str(tmp_path), file_format_type=kind, schema=DECLARED, **extra)
    assert [row["id"] for row in found] == [1, 2, 3, 4]


def test_a_fixed_name_that_is_taken_is_announced(tmp_path: Path) -> None:
    (tmp_path / "all.csv").write_text("old")
    made = sink(TABLE, path=str(tmp_path), single_file_mode=True, file_name_expression="all")

    assert [(effect.action, effect.destructive) for effect in made.plan_setup().effects] == [("replace file", True)]


@pytest.mark.parametrize("kind", ["text", "csv", "json", "parquet", "orc", "excel"])
@pytest.mark.parametrize("single", [True, False])
def test_an_empty_file_is_written_only_when_there_was_no_row(kind: str, single: bool, tmp_path: Path) -> None:
    options = {
        "file_format_type": kind,
        "create_empty_file_when_no_data": True,
        "enable_header_write": True,
        "single_file_mode": single,
    }
    empty = sink(TABLE, path=str(tmp_path / "a"), **options)
    for _ in range(2):
        commit(empty, [stage(empty, [])])
    shown = [file for file in visible(tmp_path / "a") if ".seatunnel" not in file.parts]
    assert len(shown) == 1

    filled = sink(TABLE, path=str(tmp_path / "b"), **options)
    commit(filled, [stage(filled, [batch(1)])], 1, final=False)
    commit(filled, [], 2)
    shown = [file for file in visible(tmp_path / "b") if ".seatunnel" not in file.parts]
    assert len(shown) == 1


def test_a_full_disk_is_tried_again_and_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(storage: LocalFiles, file: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(LocalFiles, "sync", full)
    made = sink(TABLE, path=str(tmp_path), file_format_type="json")

    with pytest.raises(RetriableError, match=r"cannot write .*\.part: No space left on device\n.*make room"):
        stage(made, [batch(1)])


@pytest.mark.parametrize(
    ("options", "ending"),
    [
        ({"filename_extension": ".dat"}, ".dat"),
        ({"filename_extension": "dat", "compress_codec": "gzip"}, ".dat.gz"),
        ({"filename_extension": "dat", "file_format_type": "parquet", "compress_codec": "gzip"}, ".dat"),
        ({"filename_extension": "json", "single_file_mode": True, "file_name_expression": "all"}, "/all.json"),
    ],
)
def test_files_end_as_filename_extension_says(options: dict[str, Any], ending: str, tmp_path: Path) -> None:
    write(TABLE, [batch(1, 2)], path=str(tmp_path), **options)

    [file] = [path for path in tmp_path.rglob("*") if path.is_file() and ".seatunnel" not in path.parts]
    assert str(file).endswith(ending)
    assert ".csv" not in file.name and ".parquet" not in file.name


def test_an_extension_that_no_name_can_have_is_refused(tmp_path: Path) -> None:
    for wrong in ("", ".", "a/b", "x" * 21):
        with pytest.raises(ValueError, match=r"give up to 20 characters, such as \.dat"):
            sink(TABLE, path=str(tmp_path), filename_extension=wrong)
    with pytest.raises(ValueError, match="does not go with the format binary"):
        sink(TABLE, path=str(tmp_path), filename_extension="dat", file_format_type="binary")


def test_columns_that_change_in_mid_run_are_not_promised(tmp_path: Path) -> None:
    sink(TABLE, path=str(tmp_path), schema_evolution_enabled=False)
    with pytest.raises(ValueError, match="schema_evolution_enabled is not supported"):
        sink(TABLE, path=str(tmp_path), schema_evolution_enabled=True)


@pytest.mark.parametrize("kind", ["text", "csv"])
def test_bytes_that_are_no_text_are_refused_by_the_name_of_their_column(kind: str, tmp_path: Path) -> None:
    table = TableSchema(TABLE.path, (Column("id", parse_type("bigint")), Column("raw", parse_type("bytes"))))
    writer = sink(table, path=str(tmp_path), file_format_type=kind).open(WriteContext("job", LINEAGE, "write", "a@"))

    with pytest.raises(FatalError, match="column 'raw': a value of type bytes is not UTF-8 text"):
        writer.write(Batch(TABLE.path, pa.RecordBatch.from_pydict({"id": [1], "raw": [b"\xff"]}, table.arrow())))
    writer.abort()
