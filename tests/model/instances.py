"""What is explored: instances that have to hold, mutants that have to be found. All of them fit into 8 GB."""

from __future__ import annotations

from dataclasses import dataclass

PIPELINE = "pipeline.pml"
LOOP = "loop.pml"


@dataclass(frozen=True, slots=True)
class Instance:
    """A model with its parameters. ``liveness``: search for runs without end too."""

    name: str
    about: str
    defines: tuple[str, ...] = ()
    model: str = PIPELINE
    liveness: bool = False
    hash_bits: int = 26


@dataclass(frozen=True, slots=True)
class Mutant:
    """A model with one rule left out (MUTANT_<name>). ``effect``: rows are lost or come twice."""

    rule: str
    about: str
    parameters: tuple[str, ...] = ()
    effect: bool = True
    model: str = PIPELINE
    hash_bits: int = 22

    @property
    def name(self) -> str:
        return self.rule.lower().replace("_", "-")

    @property
    def defines(self) -> tuple[str, ...]:
        return (f"MUTANT_{self.rule}", *self.parameters)


INSTANCES = ()
MUTANTS = (
    Mutant("NO_DEDUP", "a receiver applies a number twice", ("ROWS=1",)),
    Mutant("RESTART_KEEPS_PENDING", "a restart does not abort", ("ROWS=1",)),
    Mutant("ABORT_DROPS_PIECES", "a sink forgets what it staged under an aborted id", ("ROWS=1",)),
    Mutant("COMMIT_BEFORE_COMPLETION", "commit when all have acknowledged", ("ROWS=1",)),
    Mutant("ID_REUSED", "an aborted id is used again, and acknowledgements are taken whatever their epoch",
           ("ROWS=1", "FAILURES=1", "LATE=1", "EXPIRIES=1")),
    Mutant("NO_LEDGER", "the target does not ask its ledger", ("ROWS=1", "FAILURES=0", "REPEATS=1")),
    Mutant("JOURNAL_LATE", "a unit's output is emitted before the unit is journalled", ("ROWS=1",)),
    Mutant("STALE_BARRIER", "a barrier of an aborted id closes a later recording",
           ("ROWS=1", "FAILURES=1", "EXPIRIES=1", "PERIODIC=2", "UNALIGNED")),
    Mutant("NO_CHANNEL_STATE", "what an unaligned barrier overtakes is left out", ("ROWS=1", "UNALIGNED")),
    Mutant("NOT_FENCED", "the store takes a record of an older incarnation", ("ROWS=1", "FAILURES=0", "CRASHES=1")),
    Mutant("NO_ALIGNMENT", "the join records itself at the first barrier", ("ROWS=1",)),
    Mutant("NO_SUBTRACTION", "pieces that a completed record has are committed again", ("ROWS=1", "FAILURES=0")),
    Mutant("ABORT_WHILE_PERSISTING", "a restart does not wait for the store's answer", ("ROWS=1",)),
    Mutant("ABORT_NOT_SENT", "nobody tells the join of an abort", ("ROWS=1", "FAILURES=0", "LOST=1"), effect=False),
    Mutant("BARRIER_DURING_REPLAY", "a source emits a barrier while its journal is taken again", ("ROWS=1",), effect=False),
)  # fmt: skip
