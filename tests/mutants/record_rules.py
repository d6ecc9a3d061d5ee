"""Mutants for the rules of the records: what is written, read again, and deleted."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

MUTANTS: tuple[Mutant, ...] = ()
