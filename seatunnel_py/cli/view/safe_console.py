"""Provides rich consoles on which no renderable controls the terminal: tables, receipts and progress hold foreign texts
too."""

from __future__ import annotations

from io import StringIO
from typing import IO, Any

from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderHook, RenderResult
from rich.segment import Segment

from seatunnel_py.terminal_text import terminal_text


def safe_console(*, file: IO[str] | None = None, stderr: bool = False, **more: Any) -> Console:
    """A console on which no renderable controls the terminal; without markup, for names hold brackets."""
    console = Console(file=file, stderr=stderr, markup=False, highlight=False, **more)
    make_safe(console)
    return console


def text_console(real: Console, width: int) -> Console:
    """A console that draws into a text (``drawn``) with the abilities of ``real``: colours, lines of tables."""
    return safe_console(file=_Text(real.encoding), force_terminal=real.is_terminal, width=width)


def drawn(console: Console) -> str:
    """Content of a text console."""
    assert isinstance(console.file, _Text)
    return console.file.getvalue().rstrip("\n")


class _Text(StringIO):
    def __init__(self, encoding: str) -> None:
        super().__init__()
        self._encoding = encoding

    @property
    def encoding(self) -> str:  # type: ignore[override]  # a StringIO has none: rich takes it for UTF-8
        return self._encoding


def make_safe(console: Console) -> None:
    """Includes hooks pushed later: they are asked in order."""
    console.push_render_hook(_Hook())


class _Hook(RenderHook):
    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        return [_Safe(one) for one in renderables]


class _Safe:
    """A renderable whose texts are free of terminal controls. Control segments are rich's own."""

    def __init__(self, inner: ConsoleRenderable) -> None:
        self._inner = inner

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for segment in console.render(self._inner, options):
            yield segment if segment.control else Segment(terminal_text(segment.text), segment.style)
