"""The options of the ``env`` block."""

from __future__ import annotations

from fnmatch import fnmatchcase

from seatunnel_py.api.options import OptionInfo, describe
from seatunnel_py.config.env import EnvOptions
from tests.docs.site.markdown import table
from tests.docs.site.options import HEAD as COLUMNS
from tests.docs.site.options import objects, of_row

HEAD = """# Settings of a job

The keys of the `env` block. Times are milliseconds unless the key or its text says otherwise. All keys that begin with
`spark.` go to Spark as they are.

```hocon
env {
  job.name = "orders"
  job.mode = BATCH
  parallelism = 2
  guarantee = exactly-once
}
source { FakeSource { row.num = 10, schema { table = "shop.orders", fields { id = bigint } } } }
sink { LocalFile { path = "orders", file_format_type = parquet } }
```
"""
GROUPS = {
    "Job": ("job.name", "job.mode", "parallelism", "strict", "guarantee", "log.level", "sql.dialect"),
    "Metrics": ("metrics.textfile", "metrics.tables"),
    "Lineage": ("openlineage",),
    "Checkpoints": ("checkpoint.*", "state.*"),
    "What is tried again": ("job.retry.*", "multi_table.*", "unit.stall*"),
    "Bad rows": ("error.*", "*error_handler", "dirty.collector"),
    "Units, channels and speed": ("unit.*", "channel.*", "exchange.*", "read_limit.*"),
    "Sources and targets": ("source.*", "ledger.*"),
    "Secrets": ("shade.*",),
    "Engines": ("spark", "flink", "execution"),
}
REST = "Other keys"


def groups() -> dict[str, list[OptionInfo]]:
    """Every key in one group."""
    found: dict[str, list[OptionInfo]] = {title: [] for title in (*GROUPS, REST)}
    for info in describe(EnvOptions):
        title = next((title for title, keys in GROUPS.items() if any(fnmatchcase(info.key, key) for key in keys)), REST)
        found[REST if info.doc.startswith("accepted") else title].append(info)
    return {title: infos for title, infos in found.items() if infos}


def page() -> str:
    parts = [HEAD]
    for title, infos in groups().items():
        parts.append(f"## {title}\n\n{table(COLUMNS, (of_row(EnvOptions, info, 'env-') for info in infos))}")
    return "\n".join([*parts, "## Objects\n", *objects(EnvOptions, "env-")])
