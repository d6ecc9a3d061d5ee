"""Groups of options: what an option is for decides where it stands on its page.

Order decides: an option goes to the first group that takes it. Required options come first; the options that every step
of a kind has, and those that are accepted without effect, come last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from seatunnel_py.api.options import OptionInfo, describe
from seatunnel_py.plan.plugins.registry import PluginKind
from tests.docs.site.installed import COMMON, Plugin

REQUIRED = "required"


@dataclass(frozen=True, slots=True)
class Group:
    """A title, the patterns of the keys that it takes, and a sentence about it."""

    title: str
    patterns: tuple[str, ...] = ()
    about: str = ""

    @property
    def anchor(self) -> str:
        return self.title.lower().replace(",", "").replace(" ", "-")


FIRST = Group("Required options")
OTHER = Group("Options")
REST = Group("More options")
COMMON_GROUP = Group("Options of every step")
ACCEPTED = Group(
    "Accepted without effect", about="SeaTunnel's job files hold these. They are checked, and change nothing.\n\n"
)

_CONNECTION = Group(
    "Connection",
    ("username", "password", "driver", "dialect", "connection_check*", "connect_timeout*", "properties"),
)
_FORMAT = ("field_delimiter", "row_delimiter", "quote_char", "null_format", "encoding", "csv_*")
_MODEL = (
    Group("Account", ("api_*", "secret_key", "oauth_path", "custom_config")),
    Group("Requests", ("concurrency", "model_re*")),
)

GROUPS: dict[tuple[PluginKind, str], tuple[Group, ...]] = {
    (PluginKind.SOURCE, "Jdbc"): (
        _CONNECTION,
        Group("Which rows", ("query", "table_*", "where_*", "use_regex", "kinds", "exclude")),
        Group("Parallel reading", ("split.*", "partition_*", "enable_concurrent*", "use_select_count")),
        Group("Values", ("*_narrowing", "handle_*")),
    ),
    (PluginKind.SINK, "Jdbc"): (
        _CONNECTION,
        Group("Target", ("generate_sink_sql", "database", "table", "query", "tablePrefix", "tableSuffix", "field_ide")),
        Group("Keys and updates", ("primary_keys", "multi_table_config", "enable_upsert", "version_column")),
        Group("Exactly once", ("is_exactly_once", "exactly_once_recipe")),
        Group("Before the first row", ("*_save_mode", "custom_sql", "carry_over", "create_index", "table_options")),
    ),
    (PluginKind.SOURCE, "LocalFile"): (
        Group("Which files", ("path", "tables_configs", "file_filter*", "filename_*", "recursive*", "sort_*", "read_partitions")),
        Group("Format and columns", ("file_format_type", "schema", "read_columns", "parse_*", "escape_char", *_FORMAT, "skip_header*", "surplus*")),
        Group("Dates and times", ("date_format", "datetime_format", "time_format")),
        Group("Compression and archives", ("compress_codec", "archive_*")),
        Group("Excel and XML", ("sheet_*", "xml_*")),
        Group("Binary files", ("binary_*", "sync_mode", "target_path", "update_strategy", "compare_mode")),
        Group("Parallel reading", ("enable_file_split", "file_split_size")),
    ),
    (PluginKind.SINK, "LocalFile"): (
        Group("Names of files", ("file_name_*", "filename_*", "single_file*", "batch_size", "create_empty*", "tmp_path", "is_enable*")),
        Group("Directories by column", ("have_partition", "partition_*", "is_partition*")),
        Group("Format and columns", ("file_format_type", "sink_columns", *_FORMAT, "enable_header*", "compress_codec", "merge_*")),
        Group("Dates and times", ("date_format", "datetime_format", "time_format")),
        Group("Excel, XML and Parquet", ("sheet_*", "xml_*", "parquet_*")),
        Group("Before the first row", ("*_save_mode",)),
    ),
    (PluginKind.SOURCE, "Kafka"): (
        Group("Which topics", ("topic", "pattern", "tables_configs", "partition-discovery*")),
        Group("Where reading begins", ("start_mode*",)),
        Group("Format and columns", ("format", "schema", "format_error*", "field_delimiter", "surplus*", "kafka_headers*")),
        Group("Avro and Protobuf", ("avro_*", "protobuf_*", "strip_*")),
        Group("Change logs", ("debezium_*", "value_converter*")),
        Group("Consumer", ("consumer.group", "commit_on*", "kafka.config")),
    ),
    (PluginKind.SOURCE, "Postgres-CDC"): (
        Group("Which tables", ("table-*", "schema-names", "database-*")),
        Group("Where reading begins", ("startup.*", "snapshot.*", "chunk-key.*", "split.*", "enable_concurrent_read")),
        Group("Slot and publication", ("slot.*", "publication.*", "decoding*", "debezium")),
        Group("Connection", ("connect*", "properties")),
    ),
    (PluginKind.SINK, "Kafka"): (
        Group("Guarantee", ("semantics", "transaction_prefix", "ledger.topic")),
        Group("Records", ("format", "field_delimiter", "protobuf_*", "kafka_*", "partition_key*", "timestamp")),
        Group("Partitions and producer", ("partition", "assign_*", "kafka.config")),
    ),
    (PluginKind.SOURCE, "FakeSource"): (
        Group("Tables and rows", ("schema", "tables_configs", "rows", "row.num", "seed", "table-names", "split.*")),
        Group("Keys that count", ("auto.increment*",)),
        Group("Numbers", ("*int.*", "float.*", "double.*")),
        Group("Texts and bytes", ("string.*", "bytes.*")),
        Group("Dates and times", ("date.*", "time.*")),
        Group("Arrays, maps and vectors", ("array.*", "map.*", "vector.*", "binary.*")),
    ),
    (PluginKind.TRANSFORM, "LLM"): _MODEL,
    (PluginKind.TRANSFORM, "Embedding"): _MODEL,
}  # fmt: skip
"""Of the plugins with many options. A test looks for patterns that take nothing."""


def grouped(plugin: Plugin) -> list[tuple[Group, list[OptionInfo]]]:
    """Every option of a plugin, each in one group, in the order of the page."""
    own = GROUPS.get((plugin.kind, plugin.name), ())
    rest = REST if own else OTHER
    found: dict[Group, list[OptionInfo]] = {one: [] for one in (FIRST, *own, rest, COMMON_GROUP, ACCEPTED)}
    common = {info.key for info in describe(COMMON[plugin.kind])}
    for info in describe(plugin.model):
        found[_group(info, own, rest, common)].append(info)
    return [(group, infos) for group, infos in found.items() if infos]


def _group(info: OptionInfo, own: Sequence[Group], rest: Group, common: set[str]) -> Group:
    if info.required:
        return FIRST
    if info.doc.startswith("accepted"):
        return ACCEPTED
    if info.key in common:
        return COMMON_GROUP
    return next((group for group in own if takes(group, info.key)), rest)


def takes(group: Group, key: str) -> bool:
    return any(fnmatchcase(key, pattern) for pattern in group.patterns)
