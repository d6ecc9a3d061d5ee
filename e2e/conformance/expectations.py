"""What should happen where the index alone does not say it.

An entry decides an ``unknown``, names the cause that a failure must have, gives the variables and the rows that a
job wants, looks at what it left behind, and lists every deliberate improvement over SeaTunnel with its words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from e2e.conformance import content, followed, followed_mysql, servers, topics
from e2e.conformance.content import Check

SURPLUS = "fields beyond the columns of the schema are refused; surplus_fields = drop is the switch"
UNKNOWN_KEYS = "unknown keys are errors with the nearest name; env.strict = false is the switch"


@dataclass(frozen=True, slots=True)
class Expectation:
    """Beside what the index says. ``cause`` is a regular expression for the cause of an expected failure.

    ``unknown_keys`` are refused by name as long as the job is strict, and the job passes when it is not.
    ``runs`` are the variables of each run of the job, one after the other in the same scratch directory;
    ``after`` names the job whose scratch directory it continues; ``empty`` are directories that must exist.
    ``changes`` are made one after the other while the job runs, each when the check passes; ``ended`` looks at what only
    a job that has ended shows.
    """

    passes: bool | None = None
    cause: str = ""
    improvement: str = ""
    unknown_keys: tuple[str, ...] = ()
    runs: tuple[Mapping[str, str], ...] = ({},)
    after: str = ""
    empty: tuple[str, ...] = ()
    prepare: Callable[[Any], None] | None = None
    check: Check | None = None
    changes: tuple[Callable[[servers.Servers], None], ...] = ()
    ended: Check | None = None


_FILES = {
    "dynamic_job_mode": "BATCH",
    "dynamic_test_row_num_per_parallelism": "200",
    "dynamic_test_parallelism": "2",
    "dynamic_test_case_name": "conformance",
}
_HEADERS = tuple(
    {"file_format_type": kind, "enable_header_write": write} for kind in ("csv", "text") for write in ("true", "false")
)
_GBK = ("你好，世界ABC123!@#", "海底隧道", "GBK字符﨎", "测试字符")
_WRITTEN = (
    "aA\"测试\"\x03bB\"测试\"\x01101\x01测试ABC123!@#\x01\"你好，世界\"ABC123!@#",
    "aA\"测试\"\x03c\x01102\x01\"测试\"ABC123!@#\x01\"海底隧道\"",
    "a\x03eE\"测试\"\x01103\x01\"测试\"ABC123!@#\x01GBK\"字符﨎\"",
    "a\x03f\x01104\x01\"测试\"ABC123!@#\x01\"测试字符\"",
)  # fmt: skip
_WRITTEN_REST = (
    "\x01true\x01117\x0115987\x0156387395\x017084913402530365000\x011.23\x011.23"
    "\x012924137191386439303744.39292216\x01\x01你好世界ABCabc123!@#\x012023-04-22\x012023-04-22 23:20:58"
)
_SAVED = tuple(
    f'{{"c_string":"{row}","c_tinyint":1,"c_smallint":1,"c_int":123,"c_bigint":42543,"c_float":1.2}}' for row in (1, 2)
)
_PG = tuple(servers.PG_TYPES | servers.PG_DOCUMENTS)
_PG_COPIED = content.same_rows(
    "postgresql", servers.pg_texts("pg_e2e_source_table", _PG), servers.pg_texts("pg_e2e_sink_table", _PG)
)
_IDE = tuple(name for name in (*servers.PG_TYPES, "inet_col") if name != "uuid_col")
_UPPER = tuple(f'"{name.upper()}"' for name in _IDE)


def _mysql_copied(source: str, target: str, where: str = "") -> Check:
    # bit(1) is a boolean, which a created table has as tinyint(1): the same number.
    names = ", ".join("c_bit_1 + 0" if name == "c_bit_1" else name for name in servers.MYSQL_TYPES)
    order = f"{where} ORDER BY c_bigint_30"
    return content.same_rows("mysql", f"SELECT {names} FROM {source} {order}", f"SELECT {names} FROM {target} {order}")


_TEXTS, _NUMBERS = topics.texts(), topics.numbers(topics.ROWS)

EXPECTATIONS: Mapping[str, Expectation] = {
    "connector-assert/assertion/fakesource_to_assert": Expectation(
        unknown_keys=("split.row",), improvement=UNKNOWN_KEYS
    ),
    "connector-fake/fake_to_assert_with_multitable_exception": Expectation(cause="MAX 100 of field 'score'"),
    "connector-fake/fake_to_assert_with_template": Expectation(
        unknown_keys=("smalling", "rule_ruls"), improvement=UNKNOWN_KEYS
    ),
    "connector-console-seatunnel/fakesource_to_console": Expectation(check=content.printed_rows(10)),
    "connector-base/fakesource_to_console": Expectation(check=content.printed_rows(5)),
    "connector-base/connector-package-service-test-server1-resources/fakesource_to_console": Expectation(
        passes=True, check=content.printed_rows(5)
    ),
    "connector-base/connector-package-service-test-server3-resources/fakesource_to_console": Expectation(
        passes=True, check=content.printed_rows(5)
    ),
    "connector-base/valid_job_name": Expectation(passes=True, check=content.printed_rows(20)),
    # A random string is no number: the cast fails, and the job with it.
    "connector-base/batch_fakesource_to_console_error": Expectation(passes=False, cause="(?i)cast|cannot be.*int"),
    "connector-base/fake_to_console.variables": Expectation(
        runs=(
            {
                "resName": "fake",
                "rowNum": "10",
                "strTemplate": "[abc,de~,f h]",
                "nameType": "string",
                "nameVal": "abc",
                "sourceTableName": "sql",
            },
        ),
        check=content.printed_only("abc"),
    ),
    "connector-base/batch_fakesource_to_file_header": Expectation(passes=True, runs=_HEADERS, check=content.header),
    "connector-base/checkpoint-batch-disable-test-resources/"
    "batch_fakesource_to_localfile_checkpoint_disable_withtimeout": Expectation(
        check=content.text_rows("seatunnel/config/checkpoint-batch-disable-test-resources/sinkfile", 100, 3)
    ),
    "connector-base/checkpoint-batch-disable-test-resources/sink_file_text_to_assert": Expectation(
        passes=False,
        cause="3 fields for 1 column",
        improvement=SURPLUS,
        after="connector-base/checkpoint-batch-disable-test-resources/"
        "batch_fakesource_to_localfile_checkpoint_disable_withtimeout",
    ),
    "connector-base/cluster_batch_fake_to_localfile_template": Expectation(
        passes=True,
        unknown_keys=("save_mode",),
        improvement=UNKNOWN_KEYS,
        runs=(_FILES,),
        check=content.text_rows("hive/warehouse/${dynamic_test_case_name}", "200*dynamic_test_parallelism", 16, "\t"),
    ),
    "connector-base/cluster_batch_fake_to_localfile_two_pipeline_template": Expectation(
        passes=True,
        unknown_keys=("save_mode",),
        improvement=UNKNOWN_KEYS,
        runs=(_FILES,),
        check=content.text_rows("hive/warehouse/${dynamic_test_case_name}", "2*200*dynamic_test_parallelism", 16, "\t"),
    ),
    "connector-base/checkpoint-streaming-enable-test-resources/stream_fakesource_to_localfile_interval": Expectation(
        passes=True,
        check=content.text_rows("seatunnel/config/checkpoint-streaming-enable-test-resources/sinkfile", 100, 3),
    ),
    "connector-base/stream_fakesource_to_file": Expectation(
        passes=True,
        unknown_keys=("save_mode",),
        improvement=UNKNOWN_KEYS,
        check=content.text_rows("hive/warehouse/test1", 10, 16, "\t"),
    ),
    "connector-base/unify-env-param-test-resource/unify_flink_table_env_param_fakesource_to_console": Expectation(
        passes=True, check=content.printed_some
    ),
    "starter/batch_cancel_task_1": Expectation(passes=True, check=content.printed_some),
    "starter/batch_cancel_task_2": Expectation(passes=True, check=content.printed_some),
    "connector-file-local/json/fake_to_local_file_json_save_mode": Expectation(
        # Twice: the second run drops what the first one wrote.
        runs=({}, {}),
        check=content.exact_lines("seatunnel/localfile/json/fake", _SAVED, ".json"),
    ),
    "connector-file-local/json/local_file_json_to_console_with_encoding": Expectation(
        check=content.printed_texts(*_GBK)
    ),
    "connector-file-local/text/local_file_text_to_console_with_encoding": Expectation(
        check=content.printed_texts(*_GBK)
    ),
    "connector-file-local/json/local_file_to_console": Expectation(
        empty=("fake_empty",), check=content.printed_rows(0)
    ),
    "connector-file-local/parquet/local_file_to_console": Expectation(
        empty=("fake_empty",), check=content.printed_rows(0)
    ),
    "connector-file-local/text/fake_to_local_file_with_encoding": Expectation(
        check=content.exact_lines(
            "seatunnel/encoding/text", tuple(line + _WRITTEN_REST for line in _WRITTEN), ".txt", "gbk"
        )
    ),
    "connector-file-local/text/fake_to_local_file_with_multiple_table": Expectation(
        check=content.every(*(content.lzo_rows(f"fake_empty/text/fake{table}", 5, 15) for table in (1, 2)))
    ),
    "connector-file-local/parquet/fake_to_local_file_parquet": Expectation(
        check=content.parquet_rows("seatunnel/parquet", 5, 15)
    ),
    "connector-jdbc-part-1/jdbc_postgres_ide_source_and_sink": Expectation(
        passes=True,
        prepare=servers.pg_ide_tables,
        check=content.same_rows(
            "postgresql",
            servers.pg_texts("pg_ide_source_table", _IDE),
            servers.pg_texts('"PG_IDE_SINK_TABLE"', _UPPER),
        ),
    ),
    "connector-jdbc-part-1/jdbc_sink_auto_generate_sql": Expectation(
        prepare=servers.pg_people,
        check=content.exact_rows("postgresql", "SELECT count(*), count(name), count(age) FROM sink", [(100, 100, 100)]),
    ),
    "connector-jdbc-part-3/jdbc_sink_cdc_changelog": Expectation(
        prepare=servers.pg_scores,
        check=content.exact_rows("postgresql", "SELECT * FROM sink ORDER BY pk_id", [(1, "A_1", 100), (3, "C", 100)]),
    ),
    **{
        f"connector-jdbc-part-3/jdbc_postgres_source_and_sink{variant}": Expectation(
            passes=True, prepare=servers.pg_tables, check=_PG_COPIED
        )
        for variant in ("", "_copy_stmt", "_parallel", "_parallel_upper_lower")
    },
    **{
        f"connector-jdbc-part-1/jdbc_mysql_source_and_sink{variant}": Expectation(
            passes=True, prepare=servers.mysql_tables, check=_mysql_copied("seatunnel.source", "seatunnel.sink")
        )
        for variant in ("", "_parallel")
    },
    "connector-jdbc-part-1/jdbc_mysql_source_and_sink_with_multiple_tables": Expectation(
        prepare=servers.mysql_tables,
        check=content.every(
            *(_mysql_copied(f"source.{table}", f"sink.{table}", "WHERE c_int >= 0") for table in ("table1", "table2")),
            *(
                content.exact_rows("mysql", f"SELECT count(*) FROM sink.{table} WHERE c_int < 0", [(0,)])
                for table in ("table1", "table2")
            ),
        ),
    ),
    "connector-jdbc-part-1/jdbc_mysql_source_using_table_path": Expectation(
        prepare=servers.mysql_tables, check=_mysql_copied("source.table1", "sink.table1")
    ),
    "connector-kafka/kafka_default_sink_fake_to_kafka": Expectation(
        check=content.records("topic_default_sink_test", 10)
    ),
    "connector-kafka/extractTopic_fake_to_kafka": Expectation(
        passes=True, check=content.records("test_extract_topic", 10)
    ),
    "connector-kafka/textFormatIT/fake_source_to_text_sink_kafka": Expectation(
        check=content.records("test_text_topic", 10)
    ),
    "connector-kafka/textFormatIT/kafka_source_text_to_console_assert_catalog_table": Expectation(
        passes=True, prepare=topics.topic("test_topic_text", _TEXTS)
    ),
    "connector-kafka/kafka/kafka_source_to_assert_with_max_poll_records_1": Expectation(
        passes=True, prepare=topics.topic("test_topic_text_max_poll_records_1", _TEXTS)
    ),
    **{
        f"connector-kafka/kafka/kafkasource_format_error_handle_way_{way}_to_console": Expectation(
            cause=cause, prepare=topics.topic("test_topic_error_message", [*_TEXTS, b"test_message"])
        )
        for way, cause in (("fail", "topic test_topic_error_message.*test_message"), ("skip", ""))
    },
    "connector-kafka/jsonFormatIT/kafka_source_json_to_console": Expectation(
        prepare=topics.topic("test_topic_json", topics.documents())
    ),
    **{
        f"connector-kafka/kafka/kafkasource_group_offset_to_console{more}": Expectation(
            prepare=topics.topic(f"test_topic_group{more}", topics.numbers(150), read=100)
        )
        for more in ("", "_with_commit_offset")
    },
    "connector-kafka/kafka/kafkasource_latest_to_console": Expectation(
        prepare=topics.topic("test_topic_source", _NUMBERS)
    ),
    "connector-kafka/kafka/kafkasource_specific_offsets_to_console": Expectation(
        prepare=topics.topic("test_topic_source", _NUMBERS)
    ),
    "connector-kafka/protobuf/kafka_protobuf_to_assert": Expectation(
        passes=True, prepare=topics.topic("test_protobuf_topic_fake_source", topics.people())
    ),
    "connector-kafka/compatibleFormatIT/kafkasource_jdbc_record_to_pgsql": Expectation(
        prepare=topics.both(topics.topic("jdbc_source_record", topics.connected()), servers.pg_products),
        check=content.exact_rows("postgresql", "SELECT * FROM sink ORDER BY id", topics.CHANGED),
    ),
    "connector-kafka/oggFormatIT/kafka_source_ogg_to_pgsql": Expectation(
        prepare=topics.both(topics.topic("test-ogg-source", topics.changes()), servers.pg_products),
        check=content.exact_rows("postgresql", "SELECT * FROM sink ORDER BY id", topics.CHANGED),
    ),
    **{
        f"connector-cdc-postgres/{job}": Expectation(
            passes=True,
            prepare=followed.pg_tables,
            check=content.every(*(followed.pg_equal(source, target) for source, target in tables.items())),
            changes=tuple(followed.pg_changes(*tables)),
            ended=followed.pg_ended,
        )
        for job, tables in followed.PG_JOBS.items()
    },
    **{
        f"connector-cdc-mysql/{job}": Expectation(
            passes=True,
            prepare=followed_mysql.tables,
            check=followed_mysql.equal(source, target),
            changes=tuple(followed_mysql.changes(source)),
        )
        for job, (source, target) in followed_mysql.JOBS.items()
    },
    "connector-cdc-mysql/mysqlcdc_to_mysql_with_schema_change_exactly_once": Expectation(
        passes=True,
        prepare=followed_mysql.tables,
        check=followed_mysql.equal(followed_mysql.PRODUCTS, followed_mysql.PRODUCTS_COPY),
        changes=tuple(followed_mysql.altered()),
    ),
}


def expectation(name: str) -> Expectation:
    """What is known of a job beside the index."""
    return EXPECTATIONS.get(name, Expectation())
