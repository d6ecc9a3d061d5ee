"""Renders the receipt as text: one line a table, totals, and the next step for rows that did not arrive."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from seatunnel_py.cli.view.numbers import count, rows, seconds, size
from seatunnel_py.cli.view.safe_console import drawn, text_console
from seatunnel_py.errors import first_line
from seatunnel_py.nouns import counted
from seatunnel_py.runtime.observe.receipt import (
    FAILED_AGAIN,
    Receipt,
    TableReceipt,
    TableState,
    TargetReceipt,
    stand_text,
)
from seatunnel_py.runtime.storage.home import Home

LINES_MAX = 40  # a thousand tables are summed up; failed ones are always named
CAUSES_MAX = 5  # of repeated attempts
PIPED_WIDTH = 160  # a file has no width; this keeps each row on one line
WIDTH_MAX = 10_000
_COLOURS = {
    "SUCCESS": "bold green",
    "FAILED": "bold red",
    "SOME_TABLES_FAILED": "bold yellow",
    "STOPPED": "yellow",
    FAILED_AGAIN: "bold yellow",
}


def receipt_text(receipt: Receipt, home: Home) -> str:
    """Print the receipt to a terminal (colours only if stdout is one)."""
    real = Console()
    width = real.width if real.is_terminal else PIPED_WIDTH
    console = text_console(real, width)
    console.print(_heading(receipt))
    grid = _table(receipt)
    if Measurement.get(console, console.options.update(width=WIDTH_MAX), grid).minimum <= width:
        console.print(grid)
    else:
        console.print(_lines(receipt), soft_wrap=True)
    for cause in _causes(receipt):
        console.print(cause, soft_wrap=True)
    if receipt.rate is not None:
        moved, total = seconds(receipt.seconds.data), seconds(receipt.seconds.total)
        console.print(f"rows moved for {moved} of {total}, at {count(receipt.rate)} rows/s", soft_wrap=True)
    for line in _this_run(receipt):
        console.print(line, soft_wrap=True)
    for line in _repeated(receipt):
        console.print(line, style="yellow", soft_wrap=True)
    if not receipt.total("rows_read") and all(table.state is TableState.DONE for table in receipt.tables):
        console.print("0 rows were read: the sources are empty, or their filters match nothing", style="yellow")
    for note in receipt.notes:
        console.print(f"note: {note}", style="dim", soft_wrap=True)
    where = home.path / "jobs" / receipt.job_id
    console.print(f"log and receipt: {where}", style="dim", soft_wrap=True)
    return drawn(console)


def _heading(receipt: Receipt) -> Text:
    head = Text()
    head.append(receipt.state.replace("_", " ").lower(), _COLOURS[receipt.state])
    if receipt.failed_again:
        head.append(f": {count(receipt.failed_again)} of {count(receipt.total('rows_read'))}", "yellow")
    head.append(f"  {receipt.job_name}  {receipt.job_id}", "bold")
    return head


def _table(receipt: Receipt) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_footer=True, pad_edge=False)
    total = receipt.seconds
    table.add_column("table", footer=counted(len(receipt.tables), "table"), overflow="fold", min_width=12)
    table.add_column("into", overflow="fold", min_width=16)
    table.add_column("read", justify="right", no_wrap=True, footer=count(receipt.total("rows_read")))
    table.add_column("written", justify="right", no_wrap=True, footer=count(receipt.total("rows_written")))
    table.add_column("filtered", justify="right", no_wrap=True, footer=count(receipt.total("rows_filtered")))
    table.add_column("rejected", justify="right", no_wrap=True, footer=count(receipt.total("rows_rejected")))
    table.add_column("bytes", justify="right", no_wrap=True, footer=size(receipt.total("bytes_written")))
    table.add_column("time", justify="right", no_wrap=True, footer=seconds(total.total))
    table.add_column("before", overflow="fold", min_width=8)
    table.add_column("", no_wrap=True)
    shown = _shown(receipt)
    for row in shown:
        table.add_row(
            row.table,
            "\n".join(_short(into.target) + _state(into, row) for into in row.targets),
            count(row.rows_read),
            "\n".join(_known(into.rows_written, count) for into in row.targets),
            count(row.rows_filtered),
            count(row.rows_rejected),
            "\n".join(_known(into.bytes_written, size) for into in row.targets),
            "–" if row.kept else seconds(row.seconds),
            "\n".join(into.present.text if into.present else "" for into in row.targets),
            _word(row),
        )
    hidden = len(receipt.tables) - len(shown)
    if hidden:
        table.add_row(f"… and {hidden} more, done")
    return table


def _lines(receipt: Receipt) -> Text:
    """Show the receipt as lines, for a terminal that is too narrow for the table: rich would cut names and numbers."""
    lines = Text()
    for row in _shown(receipt):
        word = _word(row)
        lines.append(f"\n{word.plain:8}", word.style)
        lines.append(f" {row.table}\n", "bold")
        for into in row.targets:
            before = f", {into.present.text}" if into.present else ""
            written = f"{_known(into.rows_written, count)} written{before}{_state(into, row)}"
            lines.append(f"         -> {_short(into.target)}: {written}\n")
        others = [(row.rows_filtered, "filtered"), (row.rows_rejected, "rejected")]
        parts = [f"{count(row.rows_read)} read", *(f"{count(rows)} {what}" for rows, what in others if rows)]
        took = "" if row.kept else f", {seconds(row.seconds)}"
        lines.append(f"         {', '.join(parts)}; {size(row.bytes_written)}{took}\n")
    hidden = len(receipt.tables) - len(_shown(receipt))
    lines.append(f"… and {hidden} more, done\n" if hidden else "")
    totals = [f"{count(receipt.total(f'rows_{what}'))} {what}" for what in ("read", "written", "filtered", "rejected")]
    lines.append(f"\n{counted(len(receipt.tables), 'table')}: {', '.join(totals)}; {seconds(receipt.seconds.total)}\n")
    return lines


def _word(row: TableReceipt) -> Text:
    """Outcome of a table; one that was done before this run keeps its earlier outcome."""
    word = "kept" if row.kept and row.state is TableState.DONE else row.state.value.lower()
    return Text(word, "green" if row.state is TableState.DONE else "red")


def _this_run(receipt: Receipt) -> Iterator[str]:
    """Note for a resumed job: the table has the counts of all its runs."""
    kept = sum(table.kept for table in receipt.tables)
    if kept or any(table.rows_read_before for table in receipt.tables):
        total, now = receipt.total("rows_read"), receipt.total("rows_read_this_run")
        yield f"this run read {count(now)} of these {rows(total)}, the runs before it {count(total - now)}"
    if kept:
        yield f"{counted(kept, 'table')} {'was' if kept == 1 else 'were'} done before this run, and kept"


def _repeated(receipt: Receipt) -> Iterator[str]:
    """Report repeated work of the run, and why: it takes time, and may point to a failing machine or server."""
    for one in receipt.repeated[:CAUSES_MAX]:
        of = one.tables[0] if len(one.tables) == 1 else counted(len(one.tables), "table")
        attempts = f"{counted(one.attempts, 'attempt')} of {of} {'was' if one.attempts == 1 else 'were'} repeated"
        yield f"{attempts}: {one.cause}"
    if others := receipt.repeated[CAUSES_MAX:]:
        more = sum(one.attempts for one in others)
        yield f"{counted(more, 'more attempt')} of {counted(len(others), 'other cause')}: `seatunnel jobs show` has all"


def _state(into: TargetReceipt, table: TableReceipt) -> str:
    """Report targets of a table with different outcomes."""
    differ = any(one.stands is not None for one in table.targets)
    return f" ({(into.state or table.state).value.lower()})" if differ else ""


def _causes(receipt: Receipt) -> Iterator[Text]:
    """List the causes of failed tables and isolated targets, one line each; causes with a common remedy come together,
    and the remedy follows once."""
    found: dict[str, list[Text]] = {}
    for table in receipt.tables:
        if table.cause is not None and table.state is not TableState.STOPPED:
            found.setdefault(table.cause.remedy, []).append(_cause(table))
        for into in table.targets:
            if into.stands is not None:
                assert into.cause is not None, "a sink is isolated for a reason"
                said = into.cause == table.cause and table.state is not TableState.STOPPED
                found.setdefault("" if said else into.cause.remedy, []).append(_left_out(table, into))
    for remedy, lines in sorted(found.items(), key=lambda group: not group[0]):  # causes without a remedy come last
        yield from lines
        if remedy:
            yield Text(f"    remedy: {remedy}", "green")


def _left_out(table: TableReceipt, into: TargetReceipt) -> Text:
    assert into.stands is not None and into.cause is not None, "a sink is isolated for a reason, and stands somewhere"
    text = Text(f"{table.table} -> {_short(into.target)}: ", "bold red")
    return text.append(f"ISOLATED: {first_line(into.cause.message)}; {stand_text(asdict(into.stands))}", "default")


def _known(number: int | None, shown: Callable[[float], str]) -> str:
    """Joined rows are counted at the first table of the query."""
    return "–" if number is None else shown(number)


def _short(target: str) -> str:
    """Shorten a path below the working directory to a relative one."""
    here = f"{Path.cwd()}/"
    return target.removeprefix(here)


def _shown(receipt: Receipt) -> list[TableReceipt]:
    failed = [table for table in receipt.tables if table.state is not TableState.DONE]
    done = [table for table in receipt.tables if table.state is TableState.DONE]
    room = max(0, LINES_MAX - len(failed))
    return [*failed, *done[:room]]


def _cause(table: TableReceipt) -> Text:
    assert table.cause is not None
    text = Text(f"{table.table}: ", "bold red")
    text.append(f"{table.cause.step}: " if table.cause.step else "", "red")
    return text.append(table.cause.message, "default")
