"""What a table looks like: its path, columns, keys. Frozen, picklable, and plain data on request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from seatunnel_py.api.names import divided, dotted
from seatunnel_py.api.types import DataType, from_arrow, to_arrow

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True, order=True)
class TablePath:
    """Identity of a table: ``database.schema.table``, each of the first two possibly empty."""

    database: str
    schema: str
    table: str

    @classmethod
    def parse(cls, text: str, *, schema_first: bool = False) -> TablePath:
        """``t``, ``db.t`` (``schema.t`` when ``schema_first``) or ``db.schema.t``; anything else is a ValueError.
        A name that holds a dot stands in quotes: ``schema."a.b"``."""
        parts = divided(text)
        if not all(parts) or len(parts) > 3:
            raise ValueError(
                f"{text!r} is not a table path: write table, database.table or database.schema.table; a name that "
                "holds a dot stands in double quotes"
            )
        match parts:
            case [table]:
                return cls("", "", table)
            case [first, table]:
                return cls("", first, table) if schema_first else cls(first, "", table)
            case _:
                return cls(parts[0], parts[1], parts[2])

    @property
    def full_name(self) -> str:
        """The dotted name without missing parts: the table id that rows carry. ``parse`` reads it back."""
        return dotted(self.database, self.schema, self.table)

    def __str__(self) -> str:
        return self.full_name


@dataclass(frozen=True, slots=True)
class Column:
    """One column. ``length`` counts characters or bytes (0: unbounded); ``native`` is the source's own type name.
    ``converted_from`` is the source's type in its own words where reading it gives another form (a timetz as text):
    `plan` names it, unless the sink stores that type again."""

    name: str
    dtype: DataType
    nullable: bool = True
    length: int = 0
    scale: int | None = None
    default: Any = None
    comment: str = ""
    native: str = ""
    converted_from: str = ""


class ConstraintType(StrEnum):
    """What a constraint says about its columns; the peer's names."""

    INDEX_KEY = "INDEX_KEY"
    UNIQUE_KEY = "UNIQUE_KEY"
    FOREIGN_KEY = "FOREIGN_KEY"
    VECTOR_INDEX_KEY = "VECTOR_INDEX_KEY"


@dataclass(frozen=True, slots=True)
class PrimaryKey:
    """``proved`` says that the source enforces it, which a keyless shadow load relies on (design, section 6)."""

    columns: tuple[str, ...]
    name: str = ""
    proved: bool = False


@dataclass(frozen=True, slots=True)
class ConstraintKey:
    """``columns`` pairs each column with its sort order, ``ASC`` or ``DESC``."""

    name: str
    type: ConstraintType
    columns: tuple[tuple[str, str], ...]


class DetailKind(StrEnum):
    """What a table's definition says beside columns and keys."""

    DEFAULT = "default"
    IDENTITY = "identity"
    GENERATED = "generated column"
    TYPE = "type"
    CHECK = "check"
    FOREIGN_KEY = "foreign key"
    EXCLUSION = "exclusion"
    UNIQUE_KEY = "unique key"
    INDEX = "index"
    PARTITIONING = "partitioning"
    INHERITANCE = "inheritance"
    COMMENT = "comment"


@dataclass(frozen=True, slots=True)
class Detail:
    """A part of a source table's definition that its rows do not need. ``definition`` is in the words of ``dialect``.
    ``name`` is the constraint's or index's, or the column's."""

    kind: DetailKind
    name: str
    columns: tuple[str, ...] = ()
    definition: str = ""
    dialect: str = ""


@dataclass(frozen=True, slots=True)
class TableSchema:
    """A table's whole description. Transforms and sinks get it instead of looking at rows. ``details``: what else the
    source's definition says; a sink that makes the table says which of them it leaves behind."""

    path: TablePath
    columns: tuple[Column, ...]
    primary_key: PrimaryKey | None = None
    constraints: tuple[ConstraintKey, ...] = ()
    partition_keys: tuple[str, ...] = ()
    comment: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    details: tuple[Detail, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    def column(self, name: str) -> Column | None:
        """The column of that exact name, or None."""
        return next((column for column in self.columns if column.name == name), None)

    @property
    def key(self) -> tuple[str, ...]:
        """Columns of the primary key, else of the first unique key that identifies rows, else nothing."""
        return self.primary_key.columns if self.primary_key else self.unique_key

    @property
    def unique_key(self) -> tuple[str, ...]:
        """Columns of the first unique key none of which takes nulls: rows with a null there are not unique."""
        nullable = {column.name for column in self.columns if column.nullable}
        for constraint in self.constraints:
            names = tuple(name for name, _ in constraint.columns)
            if constraint.type is ConstraintType.UNIQUE_KEY and nullable.isdisjoint(names):
                return names
        return ()

    def arrow(self) -> pa.Schema:
        """The Arrow schema of this table's batches."""
        import pyarrow as pa

        return pa.schema(
            [pa.field(column.name, to_arrow(column.dtype), nullable=column.nullable) for column in self.columns]
        )

    def with_columns(self, columns: tuple[Column, ...]) -> TableSchema:
        """The same table with other columns; keys and constraints that lost a column are dropped."""
        names = {column.name for column in columns}
        primary = self.primary_key
        if primary and not names.issuperset(primary.columns):
            primary = None
        constraints = tuple(
            constraint for constraint in self.constraints if names.issuperset(name for name, _ in constraint.columns)
        )
        partition_keys = self.partition_keys if names.issuperset(self.partition_keys) else ()
        details = tuple(one for one in self.details if names.issuperset(one.columns))
        return replace(
            self, columns=columns, primary_key=primary, constraints=constraints, partition_keys=partition_keys,
            details=details,
        )  # fmt: skip

    def put_column(self, column: Column) -> TableSchema:
        """Replace the column of that name in place, or append it."""
        if self.column(column.name) is None:
            return replace(self, columns=(*self.columns, column))
        return replace(self, columns=tuple(column if old.name == column.name else old for old in self.columns))


def schema_from_arrow(path: TablePath, arrow: pa.Schema) -> TableSchema:
    """A table without keys whose columns are those of an Arrow schema; ValueError names a column that cannot be."""
    columns = []
    for arrow_field in arrow:
        try:
            columns.append(Column(arrow_field.name, from_arrow(arrow_field.type), nullable=arrow_field.nullable))
        except ValueError as error:
            raise ValueError(f"column {arrow_field.name!r}: {error}") from None
    return TableSchema(path, tuple(columns))
