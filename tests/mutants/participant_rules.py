"""Mutants for the rules of the subtask, from its inputs to its outputs."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

MUTANTS: tuple[Mutant, ...] = ()
