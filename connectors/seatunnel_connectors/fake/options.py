"""Options of FakeSource in a job file."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

from seatunnel_py.api import Options, SourceOptions, at_most_one, exactly_one, option, required_when
from seatunnel_py.formats.schema_option import DeclaredSchema

INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1
FLOAT_MAX = 3.4028234663852886e38
DOUBLE_MAX = 1.7976931348623157e308


class FakeMode(StrEnum):
    RANGE = "range"
    TEMPLATE = "template"


class FakeRow(Options):
    """One row given in the job file."""

    kind: Literal["INSERT", "UPDATE_BEFORE", "UPDATE_AFTER", "DELETE"] = option(
        "INSERT", doc="kind of the row, such as INSERT"
    )
    values: list[Any] | dict[str, Any] = option(
        key="fields", doc="values in the order of the columns, or by column name"
    )


def _template(kind: str) -> str:
    return f"values of {kind} columns are drawn from these"


def _mode(kind: str) -> str:
    return f"draw {kind} values from the range or from the template (which, if given, is used anyway)"


class FakeGeneration(Options):
    """Options of row generation for one table."""

    row_num: int = option(5, key="row.num", ge=0, doc="rows per reader; the total is row.num x parallelism")
    rows: tuple[FakeRow, ...] | None = option(None, doc="rows to emit once per split, instead of generated ones")
    split_num: int = option(1, key="split.num", ge=1, le=100_000, doc="number of splits per reader")
    split_read_interval: int = option(
        1, key="split.read-interval", ge=0, doc="milliseconds between two splits of a reader (streaming only)"
    )
    seed: int = option(0, ge=0, le=INT64_MAX, doc="seed of the random values; the same seed gives the same rows")

    map_size: int = option(5, key="map.size", ge=0, le=100_000, doc="entries of each map, before equal keys merge")
    array_size: int = option(5, key="array.size", ge=0, le=100_000, doc="elements of each array")
    bytes_length: int = option(
        5, key="bytes.length", ge=0, le=2**20, doc="length of bytes values; a column's columnLength overrides it"
    )
    string_length: int = option(
        5, key="string.length", ge=0, le=2**20, doc="length of strings; a column's columnLength overrides it"
    )

    string_mode: FakeMode = option(FakeMode.RANGE, key="string.fake.mode", doc=_mode("string"))
    tinyint_mode: FakeMode = option(FakeMode.RANGE, key="tinyint.fake.mode", doc=_mode("tinyint"))
    smallint_mode: FakeMode = option(FakeMode.RANGE, key="smallint.fake.mode", doc=_mode("smallint"))
    int_mode: FakeMode = option(FakeMode.RANGE, key="int.fake.mode", doc=_mode("int"))
    bigint_mode: FakeMode = option(FakeMode.RANGE, key="bigint.fake.mode", doc=_mode("bigint"))
    float_mode: FakeMode = option(FakeMode.RANGE, key="float.fake.mode", doc=_mode("float"))
    double_mode: FakeMode = option(FakeMode.RANGE, key="double.fake.mode", doc=_mode("double"))

    string_template: tuple[str, ...] = option((), key="string.template", doc=_template("string"))
    tinyint_template: tuple[int, ...] = option((), key="tinyint.template", doc=_template("tinyint"))
    smallint_template: tuple[int, ...] = option((), key="smallint.template", doc=_template("smallint"))
    int_template: tuple[int, ...] = option((), key="int.template", doc=_template("int"))
    bigint_template: tuple[int, ...] = option((), key="bigint.template", doc=_template("bigint"))
    float_template: tuple[float, ...] = option((), key="float.template", doc=_template("float"))
    double_template: tuple[float, ...] = option((), key="double.template", doc=_template("double"))

    tinyint_min: int = option(0, key="tinyint.min", ge=-128, le=127, doc="smallest tinyint")
    tinyint_max: int = option(127, key="tinyint.max", ge=-128, le=127, doc="largest tinyint")
    smallint_min: int = option(0, key="smallint.min", ge=-32768, le=32767, doc="smallest smallint")
    smallint_max: int = option(32767, key="smallint.max", ge=-32768, le=32767, doc="largest smallint")
    int_min: int = option(0, key="int.min", ge=-INT32_MAX - 1, le=INT32_MAX, doc="smallest int")
    int_max: int = option(INT32_MAX, key="int.max", ge=-INT32_MAX - 1, le=INT32_MAX, doc="largest int")
    bigint_min: int = option(0, key="bigint.min", ge=-INT64_MAX - 1, le=INT64_MAX, doc="smallest bigint")
    bigint_max: int = option(INT64_MAX, key="bigint.max", ge=-INT64_MAX - 1, le=INT64_MAX, doc="largest bigint")
    float_min: float = option(0.0, key="float.min", ge=-FLOAT_MAX, le=FLOAT_MAX, doc="smallest float")
    float_max: float = option(FLOAT_MAX, key="float.max", ge=-FLOAT_MAX, le=FLOAT_MAX, doc="largest float")
    double_min: float = option(0.0, key="double.min", doc="smallest double")
    double_max: float = option(DOUBLE_MAX, key="double.max", doc="largest double")

    year_template: tuple[int, ...] = option(
        (), key="date.year.template", doc="years of dates to choose from; default: the year in which the job starts"
    )
    month_template: tuple[int, ...] = option(
        (), key="date.month.template", doc="months of dates to choose from, 1 to 12"
    )
    day_template: tuple[int, ...] = option(
        (), key="date.day.template", doc="days of dates to choose from; default: 1 to 28"
    )
    hour_template: tuple[int, ...] = option((), key="time.hour.template", doc="hours of times to choose from")
    minute_template: tuple[int, ...] = option((), key="time.minute.template", doc="minutes of times to choose from")
    second_template: tuple[int, ...] = option((), key="time.second.template", doc="seconds of times to choose from")

    vector_dimension: int = option(4, key="vector.dimension", ge=1, le=65536, doc="elements of each vector")
    binary_vector_dimension: int = option(
        8, key="binary.vector.dimension", ge=8, le=2**19, multiple_of=8, doc="bits of each binary vector"
    )
    vector_min: float = option(
        0.0, key="vector.float.min", ge=-FLOAT_MAX, le=FLOAT_MAX, doc="smallest element of a vector"
    )
    vector_max: float = option(
        FLOAT_MAX, key="vector.float.max", ge=-FLOAT_MAX, le=FLOAT_MAX, doc="largest element of a vector"
    )

    auto_increment: bool = option(
        False,
        key="auto.increment.enabled",
        doc="count up in the integer columns of the primary key; default: in the first int or bigint column",
    )
    auto_increment_start: int = option(1, key="auto.increment.start", doc="first counted value")

    rules = tuple(
        required_when(f"{kind}_template", other=f"{kind}_mode", equals=(FakeMode.TEMPLATE,))
        for kind in ("string", "tinyint", "smallint", "int", "bigint", "float", "double")
    )


class FakeTable(FakeGeneration):
    """One entry of ``tables_configs``; the outer options are its defaults."""

    declared: DeclaredSchema = option(key="schema", doc="the table's columns, keys and name")

    # A mode may need the template of the outer options.
    rules = ()


class FakeOptions(FakeGeneration, SourceOptions):
    """All options of FakeSource."""

    declared: DeclaredSchema | None = option(None, key="schema", doc="the table's columns, keys and name")
    tables_configs: tuple[FakeTable, ...] | None = option(
        None, min_length=1, doc="several tables, each with its own options; the outer options are defaults"
    )
    table_names: tuple[str, ...] = option(
        (), key="table-names", doc="names of several tables with the same schema, each with row.num rows"
    )

    rules = (
        *FakeGeneration.rules,
        exactly_one("declared", "tables_configs"),
        at_most_one("table_names", "tables_configs"),
    )
