"""Prints rows on the console: workers render them, the driver prints.

A worker's output does not reach the terminal, so the lines travel in the pieces: bounded in number and size, in the
order of the rows. The commit prints them, one unit after another.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

from seatunnel_connectors.console.options import ConsoleOptions
from seatunnel_py.api import (
    Batch,
    CommitContext,
    Committer,
    Piece,
    Plain,
    RowKind,
    SchemaChange,
    Setup,
    Sink,
    TableSchema,
    WriteContext,
    Writer,
    failpoint,
    shown_values,
    terminal_text,
)
from seatunnel_py.formats.row_text import row_text, type_text

BEFORE = failpoint("console.commit.before", "Rows of a commit are not printed.")
AFTER = failpoint("console.commit.after", "Rows of a commit are printed; the coordinator has not heard.")
CHARACTERS_MAX = 2**20  # of one piece: it is part of a checkpoint record
LINE_CHARACTERS_MAX = 10_000
FLUSH_LINES = 500


@dataclass(frozen=True, slots=True)
class ConsoleSink(Sink):
    options: ConsoleOptions
    table: TableSchema

    @property
    def target(self) -> str:
        return "the console"

    def alter(self, change: SchemaChange, setup: Setup) -> Setup:
        return setup

    def truncate(self, setup: Setup, context: CommitContext) -> None:
        """Shown rows stay shown."""

    def open(self, context: WriteContext) -> Writer:
        return ConsoleWriter(self, context.subtask)

    def committer(self) -> Committer:
        return ConsoleCommitter(self)


class ConsoleWriter(Writer):
    def __init__(self, sink: ConsoleSink, subtask: int) -> None:
        self.sink = sink
        self.subtask = subtask
        self.rows = 0
        self.bytes = 0
        self.lines: list[Plain] = []
        self.characters = 0

    def write(self, batch: Batch) -> None:
        self.rows += batch.rows
        self.bytes += batch.data.nbytes
        if not self.sink.options.print_data:
            return
        types = [column.dtype for column in self.sink.table.columns]
        wanted = min(batch.rows, self.sink.options.rows_max - len(self.lines))
        if wanted <= 0 or self.characters >= CHARACTERS_MAX:
            return
        kinds = batch.kinds.slice(0, wanted).to_pylist() if batch.kinds is not None else [0] * wanted
        columns = [shown_values(column) for column in batch.data.slice(0, wanted).columns]
        for kind, row in zip(kinds, zip(*columns, strict=True), strict=True):
            values = row_text(list(row), types)
            line = f"SeaTunnelRow#tableId={batch.table} SeaTunnelRow#kind={RowKind(kind).name} : {values}"
            if len(line) > LINE_CHARACTERS_MAX:
                line = f"{line[:LINE_CHARACTERS_MAX]}… ({len(line)} characters)"
            self.characters += len(line)
            self.lines.append(line)
            if self.characters >= CHARACTERS_MAX:
                return

    def stage(self) -> Piece:
        return Piece(self.rows, self.bytes, data={"subtask": self.subtask, "lines": self.lines})

    def abort(self) -> None:
        self.lines = []


class ConsoleCommitter(Committer):
    def __init__(self, sink: ConsoleSink) -> None:
        self.sink = sink

    def commit(self, pieces: Sequence[Piece], context: CommitContext) -> None:
        BEFORE.hit()
        columns = self.sink.table.columns
        described = ", ".join(f"{column.name}<{type_text(column.dtype)}>" for column in columns)
        _print([f"output rowType: {described}"])
        counted: dict[Plain, int] = {}
        for piece in pieces:
            self._print_piece(piece, counted)
        AFTER.hit()

    def _print_piece(self, piece: Piece, counted: dict[Plain, int]) -> None:
        subtask, lines = piece.data["subtask"], piece.data["lines"]
        assert isinstance(subtask, int) and isinstance(lines, list)
        first = counted.get(subtask, 0) + 1
        counted[subtask] = counted.get(subtask, 0) + piece.rows
        numbered = [f"subtaskIndex={subtask}  rowIndex={first + at}:  {line}" for at, line in enumerate(lines)]
        if self.sink.options.delay_ms:
            for line in numbered:
                _print([line])
                time.sleep(self.sink.options.delay_ms / 1000)
        else:
            for at in range(0, len(numbered), FLUSH_LINES):
                _print(numbered[at : at + FLUSH_LINES])
        if self.sink.options.print_data and piece.rows > len(lines):
            hidden = piece.rows - len(lines)
            _print([f"subtaskIndex={subtask}  … {hidden} more rows of {self.sink.table.path} (log.print.max-rows)"])


def _print(lines: list[str]) -> None:
    """Print lines: unchanged into a file or a pipe; for a terminal, control characters are made harmless."""
    text = "\n".join(lines) + "\n"
    sys.stdout.write(terminal_text(text) if sys.stdout.isatty() else text)
    sys.stdout.flush()
