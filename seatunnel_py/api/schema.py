"""Schema of a table: its path, columns and keys. Frozen and picklable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from seatunnel_py.api.names import divided, dotted
from seatunnel_py.api.types import STRING, DataType, Kind, Outcome, from_arrow, stored_as, to_arrow

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True, order=True)
class TablePath:
    """Identity of a table: ``database.schema.table``; database and schema may be empty."""

    database: str
    schema: str
    table: str

    @classmethod
    def parse(cls, text: str, *, schema_first: bool = False) -> TablePath:
        """Parse ``t``, ``db.t`` (``schema.t`` if ``schema_first``) or ``db.schema.t``; a name with a dot is quoted, as
        in ``schema."a.b"``. Raises ValueError for any other text."""
        parts = divided(text)
        if not all(parts) or len(parts) > 3:
            raise ValueError(
                f"{text!r} is not a table path: write table, database.table or database.schema.table; put a name that "
                "contains a dot in double quotes"
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
        """Dotted name without the empty parts; ``Batch.table`` holds it. ``parse`` is the inverse."""
        return dotted(self.database, self.schema, self.table)

    def __str__(self) -> str:
        return self.full_name


@dataclass(frozen=True, slots=True)
class Column:
    """One column. ``length`` is in characters or bytes (0: unbounded); ``native`` is the source's own type name.
    ``converted_from`` is the source's type name if reading changes the form of its values (a timetz becomes text):
    `plan` lists such columns, unless the sink stores them in that type again."""

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
    """Kind of a constraint, with SeaTunnel's names."""

    INDEX_KEY = "INDEX_KEY"
    UNIQUE_KEY = "UNIQUE_KEY"
    FOREIGN_KEY = "FOREIGN_KEY"
    VECTOR_INDEX_KEY = "VECTOR_INDEX_KEY"


@dataclass(frozen=True, slots=True)
class PrimaryKey:
    """A primary key. ``proved``: the source enforces it; loading a shadow table without its key relies on that."""

    columns: tuple[str, ...]
    name: str = ""
    proved: bool = False


@dataclass(frozen=True, slots=True)
class ConstraintKey:
    """A unique key or an index. ``columns`` pairs each column with its sort order, ``ASC`` or ``DESC``."""

    name: str
    type: ConstraintType
    columns: tuple[tuple[str, str], ...]


class DetailKind(StrEnum):
    """Kind of a part of a table's definition other than columns and keys."""

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
    """A part of a source table's definition that its rows do not need. ``definition`` is SQL of ``dialect``.
    ``name`` is that of the constraint, index or column."""

    kind: DetailKind
    name: str
    columns: tuple[str, ...] = ()
    definition: str = ""
    dialect: str = ""


@dataclass(frozen=True, slots=True)
class TableSchema:
    """Complete description of a table, so that transforms and sinks need not inspect rows. ``details``: other parts of
    the source's definition; a sink that creates the table reports those that it omits."""

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
        """Return the column of that exact name, or None."""
        return next((column for column in self.columns if column.name == name), None)

    @property
    def key(self) -> tuple[str, ...]:
        """Columns of the primary key, else of the first unique key that identifies rows, else empty."""
        return self.primary_key.columns if self.primary_key else self.unique_key

    @property
    def unique_key(self) -> tuple[str, ...]:
        """Columns of the first unique key without nullable columns: rows with a null there are not unique."""
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
        """Return the table with other columns, without the keys and constraints that lost a column."""
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
    """Return a table without keys from an Arrow schema. ValueError names a column whose type is not supported."""
    columns = []
    for arrow_field in arrow:
        try:
            columns.append(Column(arrow_field.name, from_arrow(arrow_field.type), nullable=arrow_field.nullable))
        except ValueError as error:
            raise ValueError(f"column {arrow_field.name!r}: {error}") from None
    return TableSchema(path, tuple(columns))


def is_widened(before: Column, after: Column) -> bool:
    """Return whether each value of the earlier column is the same one in the later column."""
    if before.dtype.kind is Kind.STRING and after.dtype == STRING == before.dtype:
        longer = not after.length or 0 < before.length <= after.length
        return longer and _is_plain(before) and _is_plain(after)
    digits = after.scale is None or (before.scale is not None and before.scale <= after.scale)
    return digits and stored_as(before.dtype, after.dtype).outcome is Outcome.EXACT


def _is_plain(column: Column) -> bool:
    """Whether it is a text without a form of its own, as a uuid or a padded text has."""
    return not column.native or column.native.startswith("character varying")
