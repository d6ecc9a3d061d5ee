"""The public API: what is promised to plugin authors, and what importing it costs."""

from __future__ import annotations

import subprocess
import sys

from seatunnel_py import api

EXPORTS = """
BegunLog CommitLostError FencedError FollowedTable ForeignLedgerError Leftover LogLag LogSource RowSelection StoredRows TableStopped TableTruncated
SchemaBehavior SchemaEvent SchemaPolicy is_widened
BadRowsError Batch Cardinality Column ColumnLineage ColumnUse LineageKind CommitContext Committer ConstraintKey ConstraintType Conversion DataType Dataset Detail DetailKind Determinism Effect Element
Enumerator Failpoint FatalError FixedSplits GenerationLostError Guarantee Heartbeat JobMode JobRegistry Kind NameRules Naming NativeForm NativeReader NativeRefusedError NativeSink NativeSource
COPY_AGAIN NativeWriter CannotResumeError NothingToCommit Options PLAIN_READ Outcome OutputTransform Piece Plain PluginError Position Present
PrimaryKey Reached ReadContext Reader ReaderEvent Rejected RetriableError RowKind SchemaChange Secret Setup Shorthand SimpleSink SimpleSource Sink SinkCapabilities SinkCommit SinkFactory
SinkOptions SinkSetup Skipped Source SourceCapabilities SourceFactory SourceOptions SourceTable Split StepContext Storage TableFailure TableLeftOut TablePath
TableSchema TargetPlace TimeLimitError TransactionEnd Transform TransformCapabilities TransformFactory TransformOptions Treatment ValueMisfitError TypeCompatibility Visible WriteContext Writer
at_least_one at_most_one borrow convert exactly_one failpoint from_arrow is_on_network lock_timeout make_private_file option parse_type
private_directory private_output reachable_addresses required_when schema_from_arrow shown_rows shown_values silence simple_sink simple_source simple_table
stored_as terminal_text to_arrow together
ANY_DIGITS BIGINT DOUBLE INTEGERS NANOSECONDS NUMBER PRECISION_MAX STRING TEMPORAL array decimal
NamePattern name_pattern JavaPattern filled java_replacement re2_rewrite Rule Block as_pattern dotted globbed date_text moment_text counted redacted_text
""".split()


def test_the_exports_are_the_promised_ones() -> None:
    """Adding or removing a name is a decision: it changes this list and the changelog."""
    assert sorted(api.__all__) == sorted(EXPORTS)
    assert all(hasattr(api, name) for name in EXPORTS)


def test_importing_the_api_loads_no_heavy_library() -> None:
    """Reading and checking a job file must not pay for Arrow, Spark or a client."""
    code = (
        "import sys; import seatunnel_py.api; "
        "print(*[m for m in ('pyarrow', 'pandas', 'pyspark', 'sqlglot', 'rich', 'typer') if m in sys.modules])"
    )

    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert shown.strip() == ""


def test_every_exported_class_and_function_is_documented() -> None:
    """A name without a sentence is a guess."""
    undocumented = [
        name for name in EXPORTS if callable(getattr(api, name)) and not (getattr(api, name).__doc__ or "").strip()
    ]

    assert undocumented == []


def test_names_of_the_release_before_still_stand() -> None:
    """A plugin that imports them works for one release more."""
    earlier = {
        "BadRows": api.BadRowsError,
        "GenerationLost": api.GenerationLostError,
        "NativeRefused": api.NativeRefusedError,
        "NoWayOn": api.CannotResumeError,
        "Verdict": api.TypeCompatibility,
    }
    assert {name: getattr(api, name) for name in earlier} == earlier
