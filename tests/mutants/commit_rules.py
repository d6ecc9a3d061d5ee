"""Mutants for the rules of commits: what becomes visible, once, and in which order."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

CRASHES, COMMITS = "tests/protocol/test_crash_points.py", "tests/protocol/test_commits.py"

MUTANTS: tuple[Mutant, ...] = (
    # ---- commits.py
    Mutant(
        "a record that was not stored is committed",
        "checkpoints.py",
        "            self.shared.storing = None\n            pending.not_stored()\n",
        "            self.shared.commits = self.shared.commits.completed(self.shared.storing)\n"
        "            self.shared.storing = None\n            pending.not_stored()\n",
        "CM1, I27, F22",
    ),
    Mutant(
        "the newest commit of a scope goes first",
        "commits.py",
        "due.setdefault(commit.scope, commit)",
        "due[commit.scope] = commit",
        "CM2, I30",
    ),
    Mutant(
        "a confirmation is not followed by the next commit",
        "commits.py",
        "            under_way=self.under_way - {scope},\n            held",
        "            held",
        "CM2, I30",
    ),
    Mutant(
        "a failed commit is passed over",
        "commits.py",
        "return replace(idle, held=self.held | {scope}), FailedCommit.RETRY",
        "return replace(idle, waiting=tuple(x for x in self.waiting if (x.scope, x.checkpoint) != (scope, checkpoint))), "
        "FailedCommit.RETRY",
        "CM3, I28",
    ),
    Mutant(
        "a failed commit is not tried again",
        "commits.py",
        "        return replace(self, held=self.held - {scope})\n",
        "        return self\n",
        "CM3, I28",
    ),
    Mutant(
        "lost pieces are tried again and again",
        "commits.py",
        "FINAL = frozenset({Reason.LOST, ",
        "FINAL = frozenset({",
        "CM4, I31",
        COMMITS,
    ),
    Mutant(
        "who is fenced in one scope goes on in the others",
        "commits.py",
        "fenced=self.fenced or reason is Reason.FENCED",
        "fenced=self.fenced",
        "CM4, I34",
        COMMITS,
    ),
    Mutant(
        "a restore forgets what was not confirmed",
        "commits.py",
        "return cls(waiting=record.uncommitted, contained",
        "return cls(contained",
        "CM5, P2, I28",
    ),
    Mutant(
        "a record carries the newest commits first",
        "commits.py",
        "waiting=self.waiting + own,",
        "waiting=own + self.waiting,",
        "CM5, I30",
    ),
    Mutant(
        "a table without a row never arrives",
        "commits.py",
        "every = topology.commit_scopes if final else ()",
        "every: tuple[str, ...] = ()",
        "CM5",
        COMMITS,
    ),
    Mutant(
        "a restore does not know what its record contains",
        "commits.py",
        "contained = piece_names(record.snapshots.values())\n",
        "contained = frozenset[str]()\n",
        "CM6, I14",
    ),
    Mutant(
        "only what waits is subtracted",
        "commits.py",
        "waiting=self.waiting + own, contained=piece_names(record.snapshots.values()))",
        "waiting=self.waiting + own, contained=frozenset(p.name for c in self.waiting + own for p in c.pieces))",
        "CM6, I14",
    ),
    Mutant(
        "two records on their way are no mistake",
        "commits.py",
        "if twice := self.contained & {piece.name",
        "if twice := frozenset() & {piece.name",
        "CM7, I28",
        COMMITS,
    ),
    Mutant(
        "records are stored side by side",
        "checkpoints.py",
        "        if complete and self.storing is None:\n",
        "        if complete and not any(one.state is CheckpointState.STORING for one in complete):\n",
        "CM7, CK2",
    ),
    Mutant(
        "a confirmation confirms its own checkpoint only",
        "commits.py",
        "if one.scope != scope or one.checkpoint > checkpoint)",
        "if one.scope != scope or one.checkpoint != checkpoint)",
        "CM8, F18",
        COMMITS,
    ),
    Mutant(
        "a confirmation that is known sets the next commit going",
        "commits.py",
        "        if len(waiting) == len(self.waiting):\n            return self\n",
        "",
        "CM8, I30, F18",
    ),
    Mutant(
        "pieces are looked for before the ledger is asked",
        "commits.py",
        "    stands_at = 0 if ledger is None else ledger.checkpoint\n",
        "    stands_at = 0 if ledger is None else ledger.checkpoint\n    if not pieces_there:\n        return Verdict.LOST\n",
        "CM9, I28",
    ),
    Mutant(
        "missing pieces are called done",
        "commits.py",
        "return Verdict.APPLY if pieces_there else Verdict.LOST",
        "return Verdict.APPLY if pieces_there else Verdict.ALREADY",
        "CM9, I31",
        COMMITS,
    ),
    Mutant(
        "the target does not ask who commits",
        "commits.py",
        "    if ledger.incarnation > incarnation:\n        return Verdict.FENCED\n",
        "",
        "CM9, I34",
    ),
    # ---- commit_life.py
    Mutant(
        "the life of a commit lets an abort drop what is prepared",
        "commit_life.py",
        "{Step.ABORT: Stage.PREPARED,",
        "{Step.ABORT: Stage.DROPPED,",
        "CM10, I14",
        CRASHES,
    ),
    Mutant(
        "the life of a commit lets it be applied before a record names it",
        "commit_life.py",
        "Step.SWEEP: Stage.DROPPED},",
        "Step.SWEEP: Stage.DROPPED, Step.APPLY: Stage.COMMITTED},",
        "CM10, I27",
        COMMITS,
    ),
    Mutant(
        "the life of a commit lets a sweep drop what a record names",
        "commit_life.py",
        "Step.MISS: Stage.LOST},",
        "Step.MISS: Stage.LOST, Step.SWEEP: Stage.DROPPED},",
        "CM10, I33",
        COMMITS,
    ),
    Mutant(
        "a repeated commit is no longer confirmed",
        "commit_life.py",
        "Stage.CONFIRMED: {Step.APPLY: Stage.CONFIRMED,",
        "Stage.CONFIRMED: {Step.APPLY: Stage.COMMITTED,",
        "CM11, I28, F18",
        COMMITS,
    ),
    Mutant(
        "the next driver takes an applied commit for a lost one",
        "commit_life.py",
        "(Recorded.CARRIED, True, False): Recovery.COMMIT,",
        "(Recorded.CARRIED, True, False): Recovery.ALARM,",
        "CM12",
        CRASHES,
    ),
)
