"""Names of datasets, compared with those that OpenLineage's own client makes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from openlineage.client.naming import dataset as rules

from seatunnel_connectors.jdbc.dataset_names import table_dataset
from seatunnel_connectors.jdbc.url import parse_url
from seatunnel_connectors.kafka.client.client import Cluster
from seatunnel_py.api import Column, Dataset, DataType, Kind, SourceTable, StepContext, TablePath, TableSchema
from seatunnel_py.config import job_file
from seatunnel_py.plan.plugins.installed import installed
from seatunnel_py.plan.steps import understand


def named(rule: Any) -> Dataset:
    return Dataset(rule.get_namespace(), rule.get_name())


@pytest.mark.parametrize(
    ("url", "path", "rule"),
    [
        ("jdbc:postgresql://DB.example.com/shop", "shop.public.orders",
         rules.Postgres("db.example.com", "5432", "shop", "public", "orders")),
        ("jdbc:postgresql://db:6432/shop?user=me&password=hidden", "other.t",
         rules.Postgres("db", "6432", "shop", "other", "t")),
        ("jdbc:postgresql://one:5433,two:5434/shop", "public.t", rules.Postgres("one", "5433", "shop", "public", "t")),
        ("jdbc:mysql://db/shop", "shop.orders", rules.MySQL("db", "3306", "shop", "orders")),
        ("jdbc:mariadb://db:3307/shop", "orders", rules.MySQL("db", "3307", "shop", "orders")),
        ("jdbc:sqlite:/data/shop.db", "orders", rules.LocalFileSystem("/data/shop.db/orders")),
        ("trino://me:hidden@db:8080/shop", "shop.public.t", rules.Trino("db", "8080", "shop", "public", "t")),
    ],
)  # fmt: skip
def test_tables_of_databases(url: str, path: str, rule: Any) -> None:
    """Without a user, a password or a parameter; with the usual port."""
    first = "postgres" in url
    assert table_dataset(parse_url(url), TablePath.parse(path, schema_first=first)) == named(rule)


@pytest.mark.parametrize("bootstrap", ["B1:9092", "b2:9093,b1:9092", "PLAINTEXT://b1:9092, b2:9093"])
def test_topics_are_named_by_one_broker(bootstrap: str) -> None:
    found = Cluster.of(bootstrap.lower(), {}).dataset("orders")
    assert found == named(rules.Kafka("b1", "9092", "orders"))


JOB = """
env { job.mode = BATCH }
source { Jdbc { url = "jdbc:postgresql://db/shop", password = hidden, %s } }
sink { Jdbc { url = "jdbc:mysql://dw/shop", user = me, password = hidden, database = shop, table = copy } }
"""


def steps(text: str) -> Any:
    return understand(job_file.loads(text), installed()).steps


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ("table_path = public.orders", ["shop.public.orders"]),
        ('query = "SELECT 1"', []),
        ('table_path = public.orders, query = "SELECT 1"', []),
        ('table_list = [{table_path = public.a}, {table_path = public.orders, query = "SELECT 1"}]', []),
        ("table_list = [{table_path = public.a}, {table_path = public.orders}]", ["shop.public.orders"]),
    ],
)
def test_a_query_is_no_dataset(options: str, names: list[str]) -> None:
    """Its columns are none of a table, and it may read several."""
    step = steps(JOB % options)[0]
    source = step.factory.create(step.options, StepContext("s"))
    table = SourceTable(TableSchema(TablePath("shop", "public", "orders"), ()))
    assert [one.name for one in source.datasets(table)] == names


def test_files_are_named_by_their_absolute_path(tmp_path: Path) -> None:
    text = f'sink {{ LocalFile {{ path = "{tmp_path}/a/../b", file_format_type = csv }} }}'
    job = "env { job.mode = BATCH }\nsource { FakeSource { schema { fields { a = int } } } }\n" + text
    step = steps(job)[-1]
    table = TableSchema(TablePath("", "", "t"), (Column("a", DataType(Kind.INT)),))
    sink = step.factory.create(step.options, table, StepContext("s"))
    assert sink.dataset() == named(rules.LocalFileSystem(f"{tmp_path}/b"))
