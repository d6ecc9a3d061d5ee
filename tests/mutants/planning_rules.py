"""Mutants for the rules of the plans: graphs, restarts, restores, isolation."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

MUTANTS: tuple[Mutant, ...] = ()
