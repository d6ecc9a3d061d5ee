"""Job files with a fault each: names, blocks, values, brackets, variables; and one that is well."""

from __future__ import annotations

RIGHT = """env {
  job.name = "shop"
  job.mode = BATCH
}
source {
  FakeSource {
    row.num = 10
    plugin_output = "orders"
    schema { table = "shop.orders", fields { id = bigint, name = string } }
  }
}
transform {
  Filter {
    plugin_input = "orders"
    plugin_output = "thin"
    include_fields = ["id"]
  }
}
sink {
  LocalFile {
    plugin_input = "thin"
    path = "/tmp/lake/${table_name}"
    file_format_type = parquet
  }
}
"""
CHANGES = (
    ("job.mode", "job.mod"),
    ("BATCH", "BATSH"),
    ("env {", "enf {"),
    ("source {", "sorce {"),
    ("FakeSource", "FakeSourc"),
    ("row.num = 10", "row.num = ten"),
    ("row.num", "row.nun"),
    ("schema {", "shema {"),
    ("bigint", "bigintt"),
    ("Filter", "Fliter"),
    ("include_fields", "include_field"),
    ('plugin_input = "orders"', 'plugin_input = "order"'),
    ('plugin_input = "thin"', 'plugin_inpt = "thin"'),
    ("LocalFile", "LocalFiles"),
    ("file_format_type = parquet", "file_format_type = parquett"),
    ("file_format_type", 'name_of_file = "😀", file_format_typ'),
    ("path =", "pth ="),
    ("fields {", "field {"),
    ('include_fields = ["id"]', 'include_fields = ["id"'),
    ('job.name = "shop"', 'job.name = "shop'),
)
WRONG = tuple(RIGHT.replace(before, after, 1) for before, after in CHANGES)
"""Twenty wrong job files (A19)."""
