"""Implements ``seatunnel preview``: shows the first rows after every step, with their types."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from seatunnel_py import app
from seatunnel_py.api.text.shown import shown_rows, value_text
from seatunnel_py.cli.view.problems import tell_plain
from seatunnel_py.cli.view.safe_console import safe_console
from seatunnel_py.cli.view.terminal import documents_alone, say_json
from seatunnel_py.cli.view.value_masks import masked_values
from seatunnel_py.errors import ExitCode, JobFileError
from seatunnel_py.local.preview import StepRows
from seatunnel_py.plan.graph_nodes import IsolatedTable
from seatunnel_py.terminal_text import terminal_text

CELL_CHARACTERS_MAX = 40


def preview(path: Path, variables: Mapping[str, str], rows: int, *, as_json: bool, masked: bool) -> int:
    """Print the rows; reads from the sources only. ``masked``: types and lengths in place of values."""
    if as_json:
        return _as_json(path, variables, rows, masked=masked)
    console = safe_console()
    code = ExitCode.SUCCESS
    for step in app.preview(path, variables, rows):
        if isinstance(step, IsolatedTable):
            console.print(f"{step.table}: ISOLATED: {step.message}", style="red", soft_wrap=True)
            console.print(f"  remedy: {step.remedy}" if step.remedy else "", style="green", soft_wrap=True)
            code = ExitCode.SOME_TABLES_FAILED
            continue
        # Not as the table's title, which would be folded to the width of a narrow table.
        console.print(f"{_heading(step)}  ({step.plugin})", style="italic", soft_wrap=True)
        console.print(_table(step, masked=masked))
        for reason in () if masked else step.rejected:
            console.print(f"  rejected: {reason}", style="yellow")
    return code


def _as_json(path: Path, variables: Mapping[str, str], rows: int, *, masked: bool) -> int:
    try:
        with documents_alone():
            found = list(app.preview(path, variables, rows))
    except JobFileError as error:
        return tell_plain(error)
    say_json([_plain(step, masked=masked) for step in found], default=_plain_value)
    return ExitCode.SOME_TABLES_FAILED if any(isinstance(one, IsolatedTable) for one in found) else ExitCode.SUCCESS


def _plain(step: StepRows | IsolatedTable, *, masked: bool) -> dict[str, Any]:
    if isinstance(step, IsolatedTable):
        return {"table": str(step.table), "step": step.step, "problem": step.message, "remedy": step.remedy}
    about = {"table": str(step.table.path), "node": step.node, "plugin": step.plugin}
    columns = {column.name: str(column.dtype) for column in step.table.columns}
    refused = {"rejected": [] if masked else list(step.rejected), "rejected_rows": len(step.rejected)}
    return {**about, "columns": columns, "rows": _rows(step, masked=masked), **refused}


def _rows(step: StepRows, *, masked: bool) -> list[dict[str, Any]]:
    found = step.rows.select([column.name for column in step.table.columns])
    rows = shown_rows(found)
    return [masked_values(row, found.schema) for row in rows] if masked else rows


def _plain_value(value: Any) -> str:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)


def _heading(step: StepRows) -> str:
    """A step is named after the table that it reads; its output may have another name, or be a second table."""
    made = str(step.table.path)
    return step.node if step.node.endswith(f"[{made}]") else f"{step.node} -> {made}"


def _table(step: StepRows, *, masked: bool) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    for column in step.table.columns:
        table.add_column(Text(terminal_text(f"{column.name}\n{column.dtype}")))
    for row in _rows(step, masked=masked):
        table.add_row(*map(_cell, row.values()))
    return table


def _cell(value: Any) -> Text:
    if value is None:
        return Text("null", "dim")
    shown = terminal_text(value_text(value))  # escape before cutting: half an escape sequence means nothing
    return Text(shown if len(shown) <= CELL_CHARACTERS_MAX else shown[: CELL_CHARACTERS_MAX - 1] + "…")
