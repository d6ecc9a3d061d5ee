"""All mutants."""

from __future__ import annotations

from tests.mutants import (
    channel_rules,
    checkpoint_rules,
    closing_rules,
    commit_rules,
    coordinator_rules,
    driver_rules,
    keeping_rules,
    leaving_rules,
    log_rules,
    machine_rules,
    participant_rules,
    passage_rules,
    phase_rules,
    planning_rules,
    recopy_rules,
    record_rules,
    simulated,
    state_rules,
    unit_rules,
)
from tests.mutants.mutant import Mutant

MUTANTS: tuple[Mutant, ...] = (
    *simulated.MUTANTS,
    *channel_rules.MUTANTS,
    *participant_rules.MUTANTS,
    *unit_rules.MUTANTS,
    *passage_rules.MUTANTS,
    *coordinator_rules.MUTANTS,
    *checkpoint_rules.MUTANTS,
    *keeping_rules.MUTANTS,
    *planning_rules.MUTANTS,
    *leaving_rules.MUTANTS,
    *record_rules.MUTANTS,
    *commit_rules.MUTANTS,
    *state_rules.MUTANTS,
    *phase_rules.MUTANTS,
    *machine_rules.MUTANTS,
    *closing_rules.MUTANTS,
    *driver_rules.MUTANTS,
    *log_rules.MUTANTS,
    *recopy_rules.MUTANTS,
)
