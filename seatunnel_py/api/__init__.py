"""PUBLIC: all names for plugin authors, and the only package that plugins may import.

Names listed here change only with a deprecation cycle; everything else in ``seatunnel_py`` is private.
Importing this package loads neither pyarrow nor any client library.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
        TableStopped,
        TableTruncated,
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
    from seatunnel_py.api.factory import (
        JobMode,
        OutputTransform,
        SinkFactory,
        SourceFactory,
        StepContext,
        TransformFactory,
    )
    from seatunnel_py.api.job_registry import JobRegistry
    from seatunnel_py.api.log_source import BegunLog, FollowedTable, Leftover, LogLag, LogSource
    from seatunnel_py.api.names import Dataset, NameRules, Naming, TargetPlace, as_pattern, dotted, globbed
    from seatunnel_py.api.native import (
        Block,
        NativeForm,
        NativeReader,
        NativeRefusedError,
        NativeSink,
        NativeSource,
        NativeWriter,
    )
    from seatunnel_py.api.options import Options, Secret, option
    from seatunnel_py.api.options.rules import Rule, at_least_one, at_most_one, exactly_one, required_when, together
    from seatunnel_py.api.options.step import SinkOptions, SourceOptions, TransformOptions
    from seatunnel_py.api.process import silence
    from seatunnel_py.api.process.egress.egress_guard import reachable_addresses
    from seatunnel_py.api.process.failpoints import Failpoint, failpoint
    from seatunnel_py.api.process.file_systems import is_on_network
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
        is_widened,
        schema_from_arrow,
    )
    from seatunnel_py.api.schema_policy import SchemaBehavior, SchemaEvent, SchemaPolicy
    from seatunnel_py.api.shorthand import Shorthand
    from seatunnel_py.api.simple import SimpleSink, SimpleSource, simple_sink, simple_source, simple_table
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
        StoredRows,
        Treatment,
        Visible,
        WriteContext,
        Writer,
    )
    from seatunnel_py.api.source import (
        PLAIN_READ,
        Enumerator,
        FixedSplits,
        ReadContext,
        Reader,
        RowSelection,
        Source,
        SourceTable,
        Split,
        TableFailure,
        TableLeftOut,
    )
    from seatunnel_py.api.storage import Storage
    from seatunnel_py.api.text.java_regex import (
        JavaPattern,
        NamePattern,
        filled,
        java_replacement,
        name_pattern,
        re2_rewrite,
    )
    from seatunnel_py.api.text.shown import date_text, moment_text, shown_rows, shown_values
    from seatunnel_py.api.transform import ColumnLineage, ColumnUse, LineageKind, Transform
    from seatunnel_py.api.types import (
        ANY_DIGITS,
        BIGINT,
        DOUBLE,
        INTEGERS,
        NANOSECONDS,
        NUMBER,
        PRECISION_MAX,
        STRING,
        TEMPORAL,
        Conversion,
        DataType,
        Kind,
        Outcome,
        TypeCompatibility,
        ValueMisfitError,
        array,
        convert,
        decimal,
        from_arrow,
        parse_type,
        stored_as,
        to_arrow,
    )
    from seatunnel_py.errors import (
        COPY_AGAIN,
        BadRowsError,
        CannotResumeError,
        CommitLostError,
        FatalError,
        FencedError,
        ForeignLedgerError,
        GenerationLostError,
        PluginError,
        RetriableError,
        TimeLimitError,
    )
    from seatunnel_py.nouns import counted
    from seatunnel_py.redaction import redacted_text
    from seatunnel_py.terminal_text import terminal_text

__all__ = [
    "ANY_DIGITS",
    "BIGINT",
    "COPY_AGAIN",
    "DOUBLE",
    "INTEGERS",
    "NANOSECONDS",
    "NUMBER",
    "PLAIN_READ",
    "PRECISION_MAX",
    "STRING",
    "TEMPORAL",
    "BadRowsError",
    "Batch",
    "BegunLog",
    "Block",
    "CannotResumeError",
    "Cardinality",
    "Column",
    "ColumnLineage",
    "ColumnUse",
    "CommitContext",
    "CommitLostError",
    "Committer",
    "ConstraintKey",
    "ConstraintType",
    "Conversion",
    "DataType",
    "Dataset",
    "Detail",
    "DetailKind",
    "Determinism",
    "Effect",
    "Element",
    "Enumerator",
    "Failpoint",
    "FatalError",
    "FencedError",
    "FixedSplits",
    "FollowedTable",
    "ForeignLedgerError",
    "GenerationLostError",
    "Guarantee",
    "Heartbeat",
    "JavaPattern",
    "JobMode",
    "JobRegistry",
    "Kind",
    "Leftover",
    "LineageKind",
    "LogLag",
    "LogSource",
    "NamePattern",
    "NameRules",
    "Naming",
    "NativeForm",
    "NativeReader",
    "NativeRefusedError",
    "NativeSink",
    "NativeSource",
    "NativeWriter",
    "NothingToCommit",
    "Options",
    "Outcome",
    "OutputTransform",
    "Piece",
    "Plain",
    "PluginError",
    "Position",
    "Present",
    "PrimaryKey",
    "Reached",
    "ReadContext",
    "Reader",
    "ReaderEvent",
    "Rejected",
    "RetriableError",
    "RowKind",
    "RowSelection",
    "Rule",
    "SchemaBehavior",
    "SchemaChange",
    "SchemaEvent",
    "SchemaPolicy",
    "Secret",
    "Setup",
    "Shorthand",
    "SimpleSink",
    "SimpleSource",
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
    "StoredRows",
    "TableFailure",
    "TableLeftOut",
    "TablePath",
    "TableSchema",
    "TableStopped",
    "TableTruncated",
    "TargetPlace",
    "TimeLimitError",
    "TransactionEnd",
    "Transform",
    "TransformCapabilities",
    "TransformFactory",
    "TransformOptions",
    "Treatment",
    "TypeCompatibility",
    "ValueMisfitError",
    "Visible",
    "WriteContext",
    "Writer",
    "array",
    "as_pattern",
    "at_least_one",
    "at_most_one",
    "borrow",
    "convert",
    "counted",
    "date_text",
    "decimal",
    "dotted",
    "exactly_one",
    "failpoint",
    "filled",
    "from_arrow",
    "globbed",
    "is_on_network",
    "is_widened",
    "java_replacement",
    "lock_timeout",
    "make_private_file",
    "moment_text",
    "name_pattern",
    "option",
    "parse_type",
    "private_directory",
    "private_output",
    "re2_rewrite",
    "reachable_addresses",
    "redacted_text",
    "required_when",
    "schema_from_arrow",
    "shown_rows",
    "shown_values",
    "silence",
    "simple_sink",
    "simple_source",
    "simple_table",
    "stored_as",
    "terminal_text",
    "to_arrow",
    "together",
]

_MODULES = {
    "api.batch": "Batch Element Heartbeat Plain Position ReaderEvent Rejected RowKind SchemaChange Skipped "
    "TableStopped TableTruncated TransactionEnd",
    "api.capabilities": "Cardinality Determinism Guarantee SinkCapabilities SourceCapabilities TransformCapabilities",
    "api.factory": "JobMode OutputTransform SinkFactory SourceFactory StepContext TransformFactory",
    "api.job_registry": "JobRegistry",
    "api.log_source": "BegunLog FollowedTable Leftover LogLag LogSource",
    "api.names": "Dataset NameRules Naming TargetPlace as_pattern dotted globbed",
    "api.native": "Block NativeForm NativeReader NativeRefusedError NativeSink NativeSource NativeWriter",
    "api.options": "Options Secret option",
    "api.options.rules": "Rule at_least_one at_most_one exactly_one required_when together",
    "api.options.step": "SinkOptions SourceOptions TransformOptions",
    "api.process.egress.egress_guard": "reachable_addresses",
    "api.process.failpoints": "Failpoint failpoint",
    "api.process.file_systems": "is_on_network",
    "api.process.lock_waits": "lock_timeout",
    "api.process.private_files": "make_private_file private_directory private_output",
    "api.process.resources": "borrow",
    "api.process.silence": "silence",
    "api.schema": "Column ConstraintKey ConstraintType Detail DetailKind PrimaryKey TablePath TableSchema "
    "is_widened schema_from_arrow",
    "api.schema_policy": "SchemaBehavior SchemaEvent SchemaPolicy",
    "api.shorthand": "Shorthand",
    "api.simple": "SimpleSink SimpleSource simple_sink simple_source simple_table",
    "api.sink": "CommitContext Committer Effect NothingToCommit Piece Present Reached Setup Sink SinkCommit SinkSetup "
    "StoredRows Treatment Visible WriteContext Writer",
    "api.source": "Enumerator FixedSplits PLAIN_READ ReadContext Reader RowSelection Source SourceTable Split "
    "TableFailure TableLeftOut",
    "api.storage": "Storage",
    "api.text.java_regex": "JavaPattern NamePattern filled java_replacement name_pattern re2_rewrite",
    "api.text.shown": "date_text moment_text shown_rows shown_values",
    "api.transform": "ColumnLineage ColumnUse LineageKind Transform",
    "api.types": "ANY_DIGITS BIGINT Conversion DOUBLE DataType INTEGERS Kind NANOSECONDS NUMBER Outcome PRECISION_MAX "
    "STRING TEMPORAL ValueMisfitError TypeCompatibility array convert decimal from_arrow parse_type stored_as "
    "to_arrow",
    "errors": "COPY_AGAIN BadRowsError CannotResumeError CommitLostError FatalError FencedError ForeignLedgerError "
    "GenerationLostError PluginError RetriableError TimeLimitError",
    "nouns": "counted",
    "redaction": "redacted_text",
    "terminal_text": "terminal_text",
}
_WHOLE_MODULES = frozenset({"silence"})
"""Names that stand for a module, not for something in it."""
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names.split()}
_EARLIER = {
    "BadRows": "BadRowsError",
    "GenerationLost": "GenerationLostError",
    "NativeRefused": "NativeRefusedError",
    "NoWayOn": "CannotResumeError",
    "Verdict": "TypeCompatibility",
}
"""Deprecated names, for plugins that were written for the previous release."""

if not TYPE_CHECKING:  # or the type checker would accept any name

    def __getattr__(name: str) -> Any:
        """Import a name when it is used for the first time: a command that needs one must not pay for all."""
        known = _EARLIER.get(name, name)
        if known not in _MODULE_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module = import_module(f"seatunnel_py.{_MODULE_OF[known]}")
        found = module if known in _WHOLE_MODULES else getattr(module, known)
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
