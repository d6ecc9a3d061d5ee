"""Formats a number with its noun: ``1 index``, ``2 indexes``. Imports nothing of ours, so that every layer may use
it."""

from __future__ import annotations

_PLURALS = {"identity": "identities", "index": "indexes", "vertex": "vertices"}
"""Plurals that take more than an s."""


def counted(number: int, word: str) -> str:
    """Return ``1 table``, ``12,300 tables``."""
    return f"{number:,} {noun(number, word)}"


def noun(number: int, word: str) -> str:
    """Return the noun alone, to follow a number that is formatted in another way."""
    return word if number == 1 else _PLURALS.get(word, f"{word}s")
