"""Every benchmark that has a bar or a program to compare with, one after the other: ``make bench``. Several hours.

Those that compare with SeaTunnel do so with ``PEER=1`` in the environment: it fetches SeaTunnel first. The one against
dlt fetches that from the package index when it runs for the first time.
"""

from __future__ import annotations

import os
import subprocess
import sys

PEER = " --peer" if os.environ.get("PEER") else ""
COMMANDS = (
    f"pg_to_pg --pairs 7{PEER}",
    f"tables_200 --pairs 7{PEER}",
    "tables_200 --pairs 3 --grow 1000",
    "start",
    "warm_start",
    "scrape",
    "page",
    "page_changes",
    "viewers",
    "protocol",
    "memory",
    "checkpoint_cost",
    "checkpoint_curve",
    "kafka_to_pg",
    "kafka_latency",
    "pg_to_kafka",
    "mariadb_to_pg",
    "pg_log",
    "log_to_table",
    "log_of_tables",
    "log_latency",
    "log_copy",
    "log_memory",
    "binlog_decode",
    "csv_to_parquet",
    "against_dlt",
    "failover",
)


def main() -> None:
    """A benchmark that breaks does not keep the others from running."""
    broken = []
    for command in COMMANDS:
        print(f"\npython -m bench.{command}", flush=True)
        if subprocess.run([sys.executable, "-m", *f"bench.{command}".split()], check=False).returncode:
            broken.append(command)
    if broken:
        raise SystemExit(f"broken: {', '.join(broken)}")


if __name__ == "__main__":
    main()
