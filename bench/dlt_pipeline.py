"""One run of dlt from a schema of PostgreSQL into another; prints the seconds of its work as JSON.

    python -I bench/dlt_pipeline.py DSN SOURCE TARGET FORMAT PLACE TABLE...

Runs in dlt's own environment, which bench/against_dlt.py makes, and imports nothing of ours. The settings are those
that dlt's manual names for speed: ConnectorX reads into Arrow, which goes past dlt's normalizer; tables are read in
parallel; FORMAT is how rows are loaded: parquet (through ADBC) or csv (COPY).
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence

import dlt
from dlt.sources.sql_database import sql_database


def copy(dsn: str, source: str, target: str, file_format: str, place: str, tables: Sequence[str]) -> float:
    """Replace tables of the target by those of the source; imports are not in the seconds."""
    began = time.perf_counter()
    found = sql_database(
        dsn.replace("postgresql:", "postgresql+psycopg2:"),  # SQLAlchemy would look for another client
        schema=source,
        table_names=list(tables),
        backend="connectorx",
        reflection_level="full_with_precision",
    )
    pipeline = dlt.pipeline(
        "bench", destination=dlt.destinations.postgres(dsn), dataset_name=target, pipelines_dir=place
    )
    pipeline.run(found.parallelize(), write_disposition="replace", loader_file_format=file_format)
    return time.perf_counter() - began


if __name__ == "__main__":
    dsn, source, target, file_format, place, *tables = sys.argv[1:]
    print(json.dumps({"seconds": copy(dsn, source, target, file_format, place, tables)}))
