"""Targets that store changes get the row before an update, where the log holds it."""

from __future__ import annotations

import json
from typing import Any

from e2e.cdc.following_job import SECONDS
from e2e.cdc.test_postgres_cdc import Followed, followed, logical
from e2e.cdc.workload import WHOLE
from e2e.support import wait_alive, write_job

__all__ = ["followed", "logical"]
KEYED = "customers"
"""Its log holds the key of a row before an update, and only if that changes (REPLICA IDENTITY DEFAULT)."""


def messages(followed: Followed, table: str) -> list[tuple[str, Any, Any]]:
    """The changes in the files: operation, and ``seq`` before and after, without the copied rows."""
    files = sorted((followed.home / "files" / table).glob("*"), key=lambda one: one.stat().st_mtime_ns)
    lines = (json.loads(line) for file in files if file.is_file() for line in file.read_text().splitlines())
    found = [(one["op"], *(one[side] and one[side]["seq"] for side in ("before", "after"))) for one in lines]
    return [one for one in found if one[0] != "c" or one[2] > 1000]


def test_a_change_log_has_both_rows_of_an_update(followed: Followed) -> None:
    """With ``merge_update_event`` in one message, as in SeaTunnel. A target by key beside it is not disturbed."""
    followed.write(tables=(WHOLE, KEYED), source=", plugin_output = changed", sink=", plugin_input = changed")
    text = (followed.home / "job.conf").read_text().rstrip()
    files = f"""LocalFile {{ plugin_input = changed, path = "{followed.home}/files/${{table_name}}",
                             file_format_type = debezium_json, merge_update_event = true }}"""
    write_job(followed.home, f"{text.removesuffix('}')}, {files} }}")
    process = followed.run()
    followed.wait_followed()
    for table in (WHOLE, KEYED):
        followed.execute(
            followed.pair.source,
            f"UPDATE {table} SET seq = 2000 WHERE id = 1",
            f"UPDATE {table} SET id = 5000, seq = 2001 WHERE id = 2",
            f"DELETE FROM {table} WHERE id = 3",
        )

    both = [("u", 1, 2000), ("d", 2, None), ("c", None, 2001), ("d", 3, None)]
    wait_alive(process, "both rows", lambda: messages(followed, WHOLE) == both, SECONDS)
    alone = [("c", None, 2000), ("d", None, None), ("c", None, 2001), ("d", None, None)]
    wait_alive(process, "the row after", lambda: messages(followed, KEYED) == alone, SECONDS)
    followed.wait_equal((WHOLE, KEYED))
