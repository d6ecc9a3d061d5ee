"""PUBLIC: everything that a plugin author imports, and the only package that plugins may import.

Names listed here change only with a deprecation cycle; everything else in ``seatunnel_py`` is private.
Importing this package loads neither pyarrow nor any client library.
"""

from __future__ import annotations

from seatunnel_py.api.batch import (
    Batch,
    Element,
    Heartbeat,
    Plain,
    Position,
    ReaderEvent,
    Rejected,
    RowKind,
    SchemaChange,
    Skipped,
    TransactionEnd,
)
from seatunnel_py.api.capabilities import (
    Cardinality,
    Determinism,
    Guarantee,
    SinkCapabilities,
    SourceCapabilities,
    TransformCapabilities,
)
from seatunnel_py.api.factory import JobMode, SinkFactory, SourceFactory, StepContext, TransformFactory
from seatunnel_py.api.job_registry import JobRegistry
from seatunnel_py.api.names import NameRules, Naming, TargetPlace
from seatunnel_py.api.native import (
    NativeForm,
    NativeReader,
    NativeRefused,
    NativeSink,
    NativeSource,
    NativeWriter,
)
from seatunnel_py.api.options import Options, Secret, option
from seatunnel_py.api.options.rules import at_least_one, at_most_one, exactly_one, required_when, together
from seatunnel_py.api.options.step import SinkOptions, SourceOptions, TransformOptions
from seatunnel_py.api.process import silence
from seatunnel_py.api.process.failpoints import Failpoint, failpoint
from seatunnel_py.api.process.lock_waits import lock_timeout
from seatunnel_py.api.process.private_files import make_private_file, private_directory, private_output
from seatunnel_py.api.process.resources import borrow
from seatunnel_py.api.schema import (
    Column,
    ConstraintKey,
    ConstraintType,
    Detail,
    DetailKind,
    PrimaryKey,
    TablePath,
    TableSchema,
    schema_from_arrow,
)
from seatunnel_py.api.shorthand import Shorthand
from seatunnel_py.api.sink import (
    CommitContext,
    Committer,
    Effect,
    NothingToCommit,
    Piece,
    Present,
    Reached,
    Setup,
    Sink,
    SinkCommit,
    SinkSetup,
    Treatment,
    Visible,
    WriteContext,
    Writer,
)
from seatunnel_py.api.source import Enumerator, Reader, Source, SourceTable, Split, TableFailure, TableLeftOut
from seatunnel_py.api.storage import Storage
from seatunnel_py.api.text.shown import shown_rows, shown_values
from seatunnel_py.api.transform import Transform
from seatunnel_py.api.types import (
    Conversion,
    DataType,
    Kind,
    Outcome,
    ValueMisfitError,
    Verdict,
    convert,
    from_arrow,
    parse_type,
    stored_as,
    to_arrow,
)
from seatunnel_py.errors import (
    BadRows,
    FatalError,
    GenerationLost,
    NoWayOn,
    PluginError,
    RetriableError,
    TimeLimitError,
)
from seatunnel_py.terminal_text import terminal_text

__all__ = [
    "BadRows",
    "Batch",
    "Cardinality",
    "Column",
    "CommitContext",
    "Committer",
    "ConstraintKey",
    "ConstraintType",
    "Conversion",
    "DataType",
    "Detail",
    "DetailKind",
    "Determinism",
    "Effect",
    "Element",
    "Enumerator",
    "Failpoint",
    "FatalError",
    "GenerationLost",
    "Guarantee",
    "Heartbeat",
    "JobMode",
    "JobRegistry",
    "Kind",
    "NameRules",
    "Naming",
    "NativeForm",
    "NativeReader",
    "NativeRefused",
    "NativeSink",
    "NativeSource",
    "NativeWriter",
    "NoWayOn",
    "NothingToCommit",
    "Options",
    "Outcome",
    "Piece",
    "Plain",
    "PluginError",
    "Position",
    "Present",
    "PrimaryKey",
    "Reached",
    "Reader",
    "ReaderEvent",
    "Rejected",
    "RetriableError",
    "RowKind",
    "SchemaChange",
    "Secret",
    "Setup",
    "Shorthand",
    "Sink",
    "SinkCapabilities",
    "SinkCommit",
    "SinkFactory",
    "SinkOptions",
    "SinkSetup",
    "Skipped",
    "Source",
    "SourceCapabilities",
    "SourceFactory",
    "SourceOptions",
    "SourceTable",
    "Split",
    "StepContext",
    "Storage",
    "TableFailure",
    "TableLeftOut",
    "TablePath",
    "TableSchema",
    "TargetPlace",
    "TimeLimitError",
    "TransactionEnd",
    "Transform",
    "TransformCapabilities",
    "TransformFactory",
    "TransformOptions",
    "Treatment",
    "ValueMisfitError",
    "Verdict",
    "Visible",
    "WriteContext",
    "Writer",
    "at_least_one",
    "at_most_one",
    "borrow",
    "convert",
    "exactly_one",
    "failpoint",
    "from_arrow",
    "lock_timeout",
    "make_private_file",
    "option",
    "parse_type",
    "private_directory",
    "private_output",
    "required_when",
    "schema_from_arrow",
    "shown_rows",
    "shown_values",
    "silence",
    "stored_as",
    "terminal_text",
    "to_arrow",
    "together",
]
