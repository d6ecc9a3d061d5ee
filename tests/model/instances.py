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


INSTANCES = (
    Instance("smallest", "no fault: also no run without end", ("ROWS=1", "FAILURES=0"), liveness=True, hash_bits=22),
    Instance("messages-end", "lost messages: also no run without end", ("ROWS=1", "FAILURES=0", "PERIODIC=0", "LOST=1"),
             liveness=True, hash_bits=22),
    Instance("restart-end", "a restart: also no run without end", ("ROWS=1", "PERIODIC=0"), liveness=True, hash_bits=24),
    Instance("three-batches", "3 batches a source, 3 checkpoints", ("ROWS=3", "FAILURES=0", "PERIODIC=2")),
    Instance("restart", "a region restarts, its siblings go on", ("ROWS=2",)),
    Instance("two-restarts", "two regions, one after the other or one in the other", ("ROWS=1", "FAILURES=2", "PERIODIC=0")),
    Instance("restart-expiry", "... and a checkpoint expires", ("ROWS=1", "EXPIRIES=1")),
    Instance("restart-retained", "a vertex restarts alone, channels are retained", ("ROWS=1", "RETAIN")),
    Instance("messages", "lost, late and repeated messages", ("ROWS=1", "FAILURES=0", "LATE=1", "LOST=1", "REPEATS=1")),
    Instance("old-acknowledgement", "late and repeated ones, of an epoch before",
             ("ROWS=1", "PERIODIC=0", "LATE=1", "REPEATS=1")),
    Instance("crashes", "the coordinator dies twice", ("ROWS=1", "FAILURES=0", "CRASHES=2", "PERIODIC=2")),
    Instance("crash-repeats", "... and a message comes twice", ("ROWS=2", "FAILURES=0", "CRASHES=1", "REPEATS=1")),
    Instance("crash-restart", "a crash and a regional restart", ("ROWS=1", "CRASHES=1")),
    Instance("unaligned-restart", "channel state, a region restarts", ("ROWS=1", "UNALIGNED")),
    Instance("unaligned-retained", "channel state, a vertex restarts alone", ("ROWS=1", "UNALIGNED", "RETAIN")),
    Instance("unaligned-crash", "channel state, the coordinator dies",
             ("ROWS=1", "UNALIGNED", "FAILURES=0", "CRASHES=1")),
    Instance("unaligned-expiry", "stale barriers beside live ones",
             ("ROWS=1", "UNALIGNED", "FAILURES=0", "PERIODIC=2", "EXPIRIES=1")),
    Instance("switch", "an alignment turns into an unaligned one, a checkpoint expires",
             ("ROWS=1", "FAILURES=0", "SWITCHES=1", "EXPIRIES=1")),
    Instance("mixed", "aligned and unaligned ones in turn", ("ROWS=1", "FAILURES=0", "PERIODIC=2", "MIXED"), hash_bits=22),
    Instance("loop", "a back-edge: its rows belong to the cut; also no run without end", ("ROWS=3",), LOOP,
             liveness=True, hash_bits=22),
    Instance("loop-restarts", "... two restarts", ("ROWS=4", "FAILURES=2", "PERIODIC=2"), LOOP, hash_bits=22),
)  # fmt: skip
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
    Mutant("ABORT_NOT_SENT", "nobody tells the join of an abort", ("ROWS=3", "FAILURES=0", "LOST=1"), effect=False),
    Mutant("BARRIER_DURING_REPLAY", "a source emits a barrier while its journal is taken again", ("ROWS=1",), effect=False),
    Mutant("LOOP_LEFT_OUT", "rows on the back-edge are no part of the cut", model=LOOP),
    Mutant("LOOP_END_EARLY", "the job ends with rows in the loop", model=LOOP),
    Mutant("LOOP_AWAITED", "the head waits for the barrier on its back-edge", effect=False, model=LOOP),
    Mutant("LOOP_BOUNDED", "the back-edge is bounded like a forward channel", effect=False, model=LOOP),
)  # fmt: skip
