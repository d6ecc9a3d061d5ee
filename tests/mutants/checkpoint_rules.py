"""Mutants for the rules of one checkpoint: its trigger, its answers, its end."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

COORDINATOR = "tests/protocol/test_coordinator.py"
PENDING = "tests/protocol/test_pending.py"
TRIGGER = "tests/protocol/test_trigger.py"

MUTANTS: tuple[Mutant, ...] = (
    # ---- trigger.py
    Mutant(
        "a restart is looked at before concurrency",
        "trigger.py",
        "    Check(Reason.CONCURRENCY, True, ALL, lambda view, settings: view.crowded or view.pending >= settings.concurrency),\n"
        "    Check(Reason.NOT_RUNNING, False, ALL, lambda view, _: not (view.active and view.all_running)),\n",
        "    Check(Reason.NOT_RUNNING, False, ALL, lambda view, _: not (view.active and view.all_running)),\n"
        "    Check(Reason.CONCURRENCY, True, ALL, lambda view, settings: view.crowded or view.pending >= settings.concurrency),\n",
        "TR1, O4.3",
        TRIGGER,
    ),
    Mutant(
        "a full queue refuses the final checkpoint",
        "trigger.py",
        "Reason.TOO_MANY_QUEUED, False, BUT_FINAL,",
        "Reason.TOO_MANY_QUEUED, False, ALL,",
        "TR2",
        TRIGGER,
    ),
    Mutant(
        "a savepoint needs news",
        "trigger.py",
        "Reason.NOTHING_NEW, False, PERIODIC,",
        "Reason.NOTHING_NEW, False, PERIODIC | {TriggerKind.SAVEPOINT},",
        "TR2, I44",
        TRIGGER,
    ),
    Mutant(
        "a savepoint is refused while another checkpoint is under way",
        "trigger.py",
        "Check(Reason.CONCURRENCY, True,",
        "Check(Reason.CONCURRENCY, False,",
        "TR3, O5.5",
        TRIGGER,
    ),
    Mutant(
        "unaligned checkpoints run beside each other",
        "trigger.py",
        "return self.max_concurrent if self.alignment_timeout is None else 1",
        "return self.max_concurrent",
        "TR4, I16",
        TRIGGER,
    ),
    Mutant(
        "savepoints begin unaligned",
        "trigger.py",
        "settings.alignment_timeout == 0 and request.kind in MAY_BEGIN_UNALIGNED",
        "settings.alignment_timeout == 0",
        "TR5, I44",
        TRIGGER,
    ),
    Mutant(
        "all pipelines trigger together",
        "trigger.py",
        " + settings.initial_delay * spread",
        "",
        "TR6, O4.2",
        TRIGGER,
    ),
    Mutant(
        "missed beats are made up",
        "trigger.py",
        "    return due + settings.interval if due + settings.interval > now else now + settings.interval\n",
        "    return due + settings.interval\n",
        "TR6, O4.2",
    ),
    Mutant(
        "requests wait in the order in which they come",
        "trigger.py",
        "tuple(sorted((*queue, request), key=lambda waiting: PRECEDENCE[waiting.kind]))",
        "(*queue, request)",
        "TR7, O5.5",
        TRIGGER,
    ),
    Mutant(
        "periodic requests pile up",
        "trigger.py",
        "    if PRECEDENCE[request.kind] and any(waiting.kind is request.kind for waiting in queue):\n        return queue\n",
        "",
        "TR7, O5.5",
        TRIGGER,
    ),
    Mutant(
        "a savepoint runs beside a periodic one",
        "trigger.py",
        "view.crowded or view.pending",
        "view.pending",
        "TR8, O4.8",
        TRIGGER,
    ),
    # ---- pending.py
    Mutant(
        "expected epochs grow with those of a restart",
        "pending.py",
        "        self.epochs = dict(epochs)\n",
        "        self.epochs = epochs\n",
        "PE1, I9",
        PENDING,
    ),
    Mutant(
        "the second answer of a subtask counts",
        "pending.py",
        "        return Outcome.SUCCESS if answer.subtask in self._missing else Outcome.DUPLICATE\n",
        "        return Outcome.SUCCESS\n",
        "PE2, F14",
        PENDING,
    ),
    Mutant(
        "a life that is not known yet is heard",
        "pending.py",
        "        if there != here:\n            return Outcome.DISCARDED if there < here else Outcome.UNKNOWN\n",
        "        if there < here:\n            return Outcome.DISCARDED\n",
        "PE3",
        PENDING,
    ),
    Mutant(
        "a past life acknowledges",
        "pending.py",
        "        if there != here:\n            return Outcome.DISCARDED if there < here else Outcome.UNKNOWN\n",
        "        if there > here:\n            return Outcome.UNKNOWN\n",
        "PE4, I37",
        PENDING,
    ),
    Mutant(
        "what has ended still collects",
        "pending.py",
        "        if self.ended:\n            return Outcome.DISCARDED\n",
        "",
        "PE5, I12",
        PENDING,
    ),
    Mutant(
        "an aborted one keeps what it has collected",
        "pending.py",
        "        self._snapshots.clear()\n",
        "",
        "PE5",
        PENDING,
    ),
    Mutant(
        "anybody's decline ends it",
        "pending.py",
        "        if outcome is Outcome.SUCCESS:\n            self.abort(answer.reason)\n",
        "        if outcome is not Outcome.DISCARDED:\n            self.abort(answer.reason)\n",
        "PE6, O4.11",
        PENDING,
    ),
    Mutant(
        "what is with the store can be given up",
        "pending.py",
        "        if not self.abortable:\n            return False\n        self._end(CheckpointEvent.ABORT, reason)\n",
        "        if self.ended:\n            return False\n"
        "        self.state, self.reason = CheckpointState.ABORTED, reason\n        self._snapshots.clear()\n",
        "PE7, I10",
        PENDING,
    ),
    # ---- checkpoints.py
    Mutant(
        "a trigger goes to everybody",
        "checkpoints.py",
        "        for source in shared.sources:\n",
        "        for source in shared.topology.subtasks():\n",
        "CK1, O4.6",
    ),
    Mutant(
        "only sources hear of a completion",
        "checkpoints.py",
        "        everybody = shared.topology.subtasks()\n",
        "        everybody = shared.sources\n",
        "CK1, I14",
        COORDINATOR,
    ),
    Mutant(
        "the oldest complete one is stored first",
        "checkpoints.py",
        "chosen = max(complete,",
        "chosen = min(complete,",
        "CK2",
        COORDINATOR,
    ),
    Mutant(
        "records are stored beside each other",
        "checkpoints.py",
        "        if complete and self.storing is None:\n",
        "        if complete:\n",
        "CK2",
        COORDINATOR,
    ),
    Mutant(
        "a completion is told before it is durable",
        "checkpoints.py",
        'CancelTimer(f"{EXPIRE}{chosen.checkpoint}"), Persist(self._record(chosen)))',
        'CancelTimer(f"{EXPIRE}{chosen.checkpoint}"), Persist(self._record(chosen)), *('
        "SendCompleted(one, self.shared.incarnation, chosen.checkpoint) for one in self.shared.topology.subtasks()))",
        "CK3, I10",
    ),
    Mutant(
        "what is with the store is given up at a failure",
        "checkpoints.py",
        "            if pending.state is not CheckpointState.STORING:\n                self.abort(pending, reason, at)\n",
        "            pending.reason = reason\n            self.abort(pending, reason, at)\n",
        "CK4, I10",
        COORDINATOR,
    ),
    Mutant(
        "whatever was to be the final checkpoint is final",
        "checkpoints.py",
        "pending.kind is RecordKind.FINAL and not stable.terminated(record, shared.topology)",
        "False",
        "CK5, O1.6",
    ),
    Mutant(
        "a savepoint that made way for a restart is not asked for again",
        "checkpoints.py",
        "        if request.kind in AGAIN and reason in FOR_OTHERS:\n",
        "        if False:\n",
        "CK6",
        COORDINATOR,
    ),
    Mutant(
        "a savepoint that failed is not answered",
        "checkpoints.py",
        "            shared.refuse(request.name or request.kind, reason)\n",
        "            pass\n",
        "CK6, CO6",
        COORDINATOR,
    ),
)
