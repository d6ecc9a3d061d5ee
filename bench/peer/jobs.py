"""SeaTunnel's job files."""

from __future__ import annotations

from collections.abc import Sequence

from bench import pg
from tests.servers import mariadb
from tests.servers.mariadb import MariadbServer
from tests.servers.postgres import DATABASE, PostgresServer

DRIVER = "org.postgresql.Driver"
CDC_USER = "replica"
"""User and password: SeaTunnel refuses an empty one."""

ENV = """\
env {{
  job.mode = "BATCH"
  parallelism = {parallelism}
}}
"""
CONNECTION = """\
    url = "{url}"
    driver = "{driver}"
    user = "{user}"
    password = "unused"
"""


def connection(server: PostgresServer) -> str:
    return CONNECTION.format(url=server.jdbc_url(DATABASE), driver=DRIVER, user=server.user)


def big_table(server: PostgresServer, *, use_copy: bool, parallelism: int = 2, table: str = pg.BIG_TABLE) -> str:
    """One table by key ranges into an existing keyed table: by upsert, its default, or by COPY."""
    return f"""{ENV.format(parallelism=parallelism)}
source {{
  Jdbc {{
{connection(server)}
    query = "select * from {pg.SOURCE}.{table}"
    partition_column = "id"
    partition_num = {parallelism}
  }}
}}
sink {{
  Jdbc {{
{connection(server)}
    generate_sink_sql = true
    database = "{DATABASE}"
    table = "{pg.TARGET}.{table}"
    primary_keys = ["id"]
    use_copy_statement = {str(use_copy).lower()}
  }}
}}
"""


def many_tables(server: PostgresServer, names: Sequence[str], *, parallelism: int = 2) -> str:
    """A list of tables, created in the target schema by the sink."""
    tables = ",\n      ".join(f'{{ table_path = "{DATABASE}.{pg.SOURCE}.{name}" }}' for name in names)
    return f"""{ENV.format(parallelism=parallelism)}
source {{
  Jdbc {{
{connection(server)}
    table_list = [
      {tables}
    ]
  }}
}}
sink {{
  Jdbc {{
{connection(server)}
    generate_sink_sql = true
    database = "{DATABASE}"
    table = "{pg.TARGET}.${{table_name}}"
  }}
}}
"""


def binlog(source: MariadbServer, target: PostgresServer, start: tuple[str, int], relation: str) -> str:
    """MariaDB's log of one table from a place on, into an existing keyed table, as its documentation shows it."""
    file, offset = start
    return f"""env {{
  job.mode = "STREAMING"
  parallelism = 1
  checkpoint.interval = 500
}}
source {{
  MySQL-CDC {{
    base-url = "{source.jdbc_url()}"
    username = "{CDC_USER}"
    password = "{CDC_USER}"
    startup.mode = "specific"
    startup.specific-offset.file = "{file}"
    startup.specific-offset.pos = {offset}
    table-names = ["{mariadb.DATABASE}.{pg.BIG_TABLE}"]
  }}
}}
sink {{
  Jdbc {{
{connection(target)}
    generate_sink_sql = true
    database = "{DATABASE}"
    table = "{relation}"
    primary_keys = ["id"]
  }}
}}
"""
