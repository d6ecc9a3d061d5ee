"""A number with its noun: ``1 index``, ``2 indexes``. Imports nothing of ours, so that every layer may say it."""

from __future__ import annotations

_PLURALS = {"identity": "identities", "index": "indexes", "vertex": "vertices"}
"""Of nouns that take more than an s."""


def counted(number: int, word: str) -> str:
    """``1 table``, ``12,300 tables``."""
    return f"{number:,} {noun(number, word)}"


def noun(number: int, word: str) -> str:
    """The noun alone, behind a number that is written in another way."""
    return word if number == 1 else _PLURALS.get(word, f"{word}s")
