"""Options of Jdbc: SeaTunnel's names, older names, rules between them; what the factory needs to load for that."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from pydantic import ValidationError

from seatunnel_connectors.jdbc.factory import JdbcSinkFactory
from seatunnel_connectors.jdbc.options import (
    DataSaveMode,
    FieldCase,
    JdbcSinkOptions,
    JdbcSourceOptions,
    SchemaSaveMode,
)
from seatunnel_connectors.jdbc.source.table_request import requests_of
from seatunnel_py.api import StepContext, TablePath, TableSchema
from seatunnel_py.api.options import JOB_FILE

URL = {"url": "jdbc:postgresql://h/d", "driver": "org.postgresql.Driver"}


def source(**more: Any) -> JdbcSourceOptions:
    return JdbcSourceOptions.model_validate({**URL, **more}, context={JOB_FILE: True})


def sink(**more: Any) -> JdbcSinkOptions:
    return JdbcSinkOptions.model_validate({**URL, **more}, context={JOB_FILE: True})


def test_every_key_of_the_peer_is_known() -> None:
    found = source(
        user="u", password="p", query="select 1", compatible_mode="x", connection_check_timeout_sec="10", fetch_size=100,
        properties={"a.b": "c"}, use_select_count=True, skip_analyze=True, decimal_type_narrowing=False,
        int_type_narrowing=False, handle_blob_as_string=True, partition_column="id", partition_num="4",
        partition_lower_bound=1, partition_upper_bound=9, use_kerberos=False, enable_concurrent_read=False,
        split={"size": 10, "string_split_mode": "sample", "string-strategy": "hash", "string_split_mode_collate": "x", "sample-sharding.threshold": 5, "inverse-sampling.rate": 7, "allow-sampling": False,
               "even-distribution": {"factor": {"upper-bound": 9, "lower-bound": 0.1}}},
    )  # fmt: skip
    assert (found.username, found.split_size, found.even_upper, found.partition_lower_bound) == ("u", 10, 9.0, "1")
    assert "'p'" not in repr(found)

    written = sink(
        user="u", password="p", generate_sink_sql="true", database="d", table="s.t", primary_keys="a, b", batch_size=5,
        batch_interval_ms=1, max_retries=1, xa_data_source_class_name="x", max_commit_attempts=3,
        transaction_timeout_sec=9, auto_commit=False, field_ide="uppercase", schema_save_mode="recreate_schema",
        data_save_mode="custom_processing", custom_sql="x", support_upsert_by_query_primary_key_exist=True,
        support_upsert_by_insert_only=True, is_primary_key_updated=False, use_copy_statement=True, create_index=False,
        oracle_insert_mode="CONVENTIONAL", compatible_mode="x", dialect="x", tablePrefix="a_", tableSuffix="_z", multi_table_sink_replica=2,
    )  # fmt: skip
    assert written.primary_keys == ("a", "b") and written.field_ide is FieldCase.UPPERCASE
    assert written.schema_save_mode is SchemaSaveMode.RECREATE_SCHEMA
    assert written.data_save_mode is DataSaveMode.CUSTOM_PROCESSING


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "query, table_path or table_list"),
        ({"table_path": "t", "table_list": [{"table_path": "t"}]}, "only one of"),
        ({"query": "q", "table_list": [{"table_path": "t"}]}, "only one of"),
        ({"table_path": "t", "where_condition": "id > 1"}, "must begin with 'where'"),
        (
            {"table_path": "t", "url": "jdbc:mysql://h/d?allowLoadLocalInfile=true"},
            "allowLoadLocalInfile|allowloadlocalinfile",
        ),
        ({"table_list": [{}]}, "table_path or query"),
        ({"table_path": "t", "split.siz": 4}, "unknown option"),
    ],
)
def test_source_rules(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        source(**options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"query": "q", "table": "t"}, "only one of"),
        ({"data_save_mode": "CUSTOM_PROCESSING"}, "custom_sql"),
        ({"is_exactly_once": True, "max_retries": 3}, "max_retries must be 0"),
        ({"query": "q", "is_exactly_once": True, "exactly_once_recipe": "staged"}, "must be auto or direct with query"),
        ({"schema_save_mode": "NONE"}, "schema_save_mode"),
        ({"url": "x"}, "neither a JDBC URL"),
    ],
)
def test_sink_rules(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        sink(**options)


def test_a_statement_for_a_database_without_a_ledger_is_refused_where_rows_may_count_only_once() -> None:
    options = sink(url="mssql+pyodbc://h/d", query="q", is_exactly_once=True)

    with pytest.raises(ValueError, match="is_exactly_once with a query needs PostgreSQL"):
        JdbcSinkFactory().create(options, TableSchema(TablePath.parse("t"), ()), StepContext("sink"))


def test_requests_inherit_what_is_said_once() -> None:
    found = requests_of(
        source(
            table_list=[{"table_path": "a.t"}, {"table_path": "a.u", "query": " select * from a.u ; ", "partition_num": 3}],
            where_condition="WHERE x = 1", partition_column="id",
        )
    )  # fmt: skip

    assert [(one.label, one.where, one.query) for one in found] == [
        ("table_list[0]", "x = 1", None),
        ("table_list[1]", "x = 1", "select * from a.u"),
    ]
    assert (found[1].partition.column, found[1].partition.number) == ("id", 3)


def test_the_factory_loads_no_client_library() -> None:
    code = (
        "import sys; import seatunnel_connectors.jdbc.factory as f; "
        "f.JdbcSourceFactory.options.model_validate({'url': 'jdbc:mysql://h/d', 'query': 'q'}); "
        "bad = {'pyarrow', 'psycopg', 'pymysql', 'connectorx', 'sqlalchemy', 'adbc_driver_manager', 'sqlite3'}; "
        "sys.exit(', '.join(bad & set(sys.modules)) or 0)"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
