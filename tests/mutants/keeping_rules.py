"""Mutants for the rules of what is kept: epochs and records, together or for how long, and commits until they are there."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, runtime

COORDINATOR = "tests/protocol/test_coordinator.py"
RETENTION = "tests/protocol/test_retention.py"
HUB = "tests/protocol/test_hub.py"

MUTANTS: tuple[Mutant, ...] = (
    runtime(
        "an isolated sink keeps what it has staged where all begin anew",
        "resume/pipeline_start.py",
        "sink_operations.abort(begun, past.strays",
        "sink_operations.abort(made, past.strays",
        "pipeline_start 3",
        "tests/unit/runtime/test_resuming.py",
    ),
    runtime(
        "an isolated sink is not finished under another parallelism",
        "resume/isolated_sink_recovery.py",
        "fitted = rescaled(stood[at], _as_live(topology, stood[at]), prepared_of(plan).rounds, ())",
        "fitted = stood[at]",
        "isolated_sink_recovery 2",
        "tests/unit/runtime/test_left_out.py",
    ),
    runtime(
        "sources wait for room that only a checkpoint makes",
        "state/shared_state.py",
        " and self.takes_checkpoints",
        "",
        "segment_retention 3",
        "tests/unit/runtime/test_segment_retention.py",
    ),
    # ---- pipeline_state.py
    Mutant(
        "epochs begin again with each driver",
        "coordinator/startup.py",
        "{**dict.fromkeys(names, 0), **record.epochs}",
        "dict.fromkeys(names, 0)",
        "PS1, I11",
        COORDINATOR,
    ),
    Mutant(
        "a record is restored before it is durable",
        "coordinator/checkpoints.py",
        "        shared.storing = replace(record, ",
        "        shared.storing = shared.newest = replace(record, ",
        "PS2, I10",
        COORDINATOR,
    ),
    # ---- record_batcher.py
    Mutant(
        "writes run beside each other",
        "commit/record_batcher.py",
        "        if self._under_way is not None or not self._waiting:\n",
        "        if not self._waiting:\n",
        "HU1, I10",
        HUB,
    ),
    Mutant(
        "an older record of a pipeline stays in the way of a newer one",
        "commit/record_batcher.py",
        "        self._waiting[pipeline] = record\n",
        "        self._waiting.setdefault(pipeline, record)\n",
        "HU2",
        HUB,
    ),
    Mutant(
        "a write that ends takes the records of others along",
        "commit/record_batcher.py",
        "        self._under_way = None\n        return write.records",
        "        self._under_way = None\n        self._waiting = {}\n        return write.records",
        "HU3, O5.1",
        HUB,
    ),
    Mutant(
        "a pipeline that has ended leaves a record behind that is written later",
        "commit/record_batcher.py",
        "        self._waiting.pop(pipeline, None)\n",
        "        pass\n",
        "HU4",
        HUB,
    ),
    # ---- retention.py
    Mutant(
        "checkpoint 0 is deleted like any other",
        "commit/retention.py",
        "if record.kind is RecordKind.SAVEPOINT or record.checkpoint == zero:",
        "if record.kind is RecordKind.SAVEPOINT:",
        "RT1",
        RETENTION,
    ),
    Mutant(
        "savepoints count as retained",
        "commit/retention.py",
        " if record.kind not in NOT_COUNTED]",
        "]",
        "RT1, I44",
        RETENTION,
    ),
    Mutant(
        "what a savepoint refers to is deleted",
        "commit/retention.py",
        "        if record.checkpoint in referred:\n            return RetentionReason.REFERRED\n",
        "",
        "RT2, I18",
        RETENTION,
    ),
    Mutant(
        "the newest confirmed record is deleted",
        "commit/retention.py",
        "        if record.checkpoint >= confirmed:\n",
        "        if record.checkpoint > confirmed:\n",
        "RT4, I17",
        RETENTION,
    ),
    Mutant(
        "one record is enough",
        "commit/retention.py",
        "        return RetentionReason.RECENT if record.checkpoint in recent else None\n",
        "        return None\n",
        "RT5, I18",
        RETENTION,
    ),
    Mutant(
        "retention depends on how records are listed",
        "commit/retention.py",
        "    ordered = sorted(records, key=lambda record: record.checkpoint)\n",
        "    ordered = list(records)\n",
        "RT6, F26",
        RETENTION,
    ),
    Mutant(
        "older savepoints are not subsumed",
        "commit/retention.py",
        "if older.checkpoint < completed and older.abortable)",
        "if older.checkpoint < completed and older.abortable and older.kind is not RecordKind.SAVEPOINT)",
        "RT7, I30",
        RETENTION,
    ),
    # ---- committing.py
    Mutant(
        "a failed commit is tried without end at the same pace",
        "commit/commit_retries.py",
        "self.backoff.pause(failures - 1)",
        "self.backoff.pause(0)",
        "CN1, I29",
        COORDINATOR,
    ),
    Mutant(
        "a failed commit waits for no timer",
        "commit/commit_retries.py",
        'shared.say(SetTimer(f"{COMMIT}{scope}", pause), CommitWaits(',
        "shared.say(CommitWaits(",
        "CN1, I29",
    ),
    Mutant(
        "a lost commit does not end the pipeline",
        "commit/commit_retries.py",
        "        return reason if follows is FailedCommit.END else None\n",
        "        return None\n",
        "CN2, I31",
        COORDINATOR,
    ),
    Mutant(
        "confirmations to another driver count",
        "commit/commit_retries.py",
        "            shared.stale += 1\n            return\n",
        "            shared.stale += 1\n",
        "CN3, I37",
        COORDINATOR,
    ),
    Mutant(
        "refusals to another driver count",
        "commit/commit_retries.py",
        "            shared.stale += 1\n            return None\n",
        "            shared.stale += 1\n",
        "CN3, I34",
        COORDINATOR,
    ),
)
