"""Mutants for the rules of the coordinator and of its deciders."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

MUTANTS: tuple[Mutant, ...] = ()
