"""Text as Markdown: cells of tables, code, headings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_CODE = re.compile(r"(`[^`]*`)")


def code(text: str) -> str:
    """Text as code. Characters that nobody sees are shown as their escapes; a bar would end a cell of a table."""
    shown = "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text)
    return f"<code>{_entities(shown)}</code>" if "|" in shown or "`" in shown else f"`{shown}`"


def plain(text: str) -> str:
    """A sentence of a docstring or an option. What stands in backquotes stays code."""
    parts = [code(part[1:-1]) if _CODE.fullmatch(part) else _escaped(part) for part in _CODE.split(text) if part]
    return " ".join("".join(parts).split())


def _entities(text: str) -> str:
    for letter, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("|", "&#124;"), ("`", "&#96;")):
        text = text.replace(letter, entity)
    return text.replace("\\", "&#92;").replace("*", "&#42;").replace("_", "&#95;").replace("$", "&#36;")


def _escaped(text: str) -> str:
    for letter, entity in (("&", "&amp;"), ("<", "&lt;"), ("|", "&#124;"), ("*", "&#42;"), ("\\", "&#92;")):
        text = text.replace(letter, entity)
    return text


def sentence(text: str) -> str:
    """The text with a capital and a full stop."""
    text = text.strip()
    begun = text if text[:1] in "`$" or re.match(r"\w*[_.=]\w", text) else text[:1].upper() + text[1:]
    return begun if begun.endswith((".", ":", "!")) else f"{begun}."


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table. Cells are Markdown already."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
