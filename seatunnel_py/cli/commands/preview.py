"""Implements ``seatunnel preview``: shows the first rows after every step, with their types."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from seatunnel_py import app
from seatunnel_py.api.text.shown import shown_values, value_text
from seatunnel_py.cli.view.safe_console import safe_console
from seatunnel_py.errors import ExitCode
from seatunnel_py.local.preview import StepRows
from seatunnel_py.plan.graph_nodes import IsolatedTable
from seatunnel_py.terminal_text import terminal_text

CELL_CHARACTERS_MAX = 40


def preview(path: Path, variables: Mapping[str, str], rows: int) -> int:
    """Print the rows; reads from the sources only."""
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
        console.print(_table(step))
        for reason in step.rejected:
            console.print(f"  rejected: {reason}", style="yellow")
    return code


def _heading(step: StepRows) -> str:
    """A step is named after the table that it reads; its output may have another name, or be a second table."""
    made = str(step.table.path)
    return step.node if step.node.endswith(f"[{made}]") else f"{step.node} -> {made}"


def _table(step: StepRows) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    for column in step.table.columns:
        table.add_column(Text(terminal_text(f"{column.name}\n{column.dtype}")))
    columns = [shown_values(step.rows.column(column.name)) for column in step.table.columns]
    for row in zip(*columns, strict=True):
        table.add_row(*map(_cell, row))
    return table


def _cell(value: Any) -> Text:
    if value is None:
        return Text("null", "dim")
    shown = terminal_text(value_text(value))  # escape before cutting: half an escape sequence means nothing
    return Text(shown if len(shown) <= CELL_CHARACTERS_MAX else shown[: CELL_CHARACTERS_MAX - 1] + "…")
