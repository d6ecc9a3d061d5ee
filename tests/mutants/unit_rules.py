"""Mutants for the rules of the units of a subtask, and of their journal."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

MUTANTS: tuple[Mutant, ...] = (
    # ---- units.py
    Mutant(
        "the journal is not replayed",
        "participant/unit_log.py",
        "        self.journal = deque(journal)\n",
        "        self.journal = deque(())\n",
        "W3",
    ),
    Mutant(
        "an ended source reads on",
        "participant/unit_log.py",
        "self.ended or self.stopped_by is not None",
        "self.stopped_by is not None",
        "W5, I46",
    ),
    Mutant(
        "a unit begins beside another",
        "participant/participant.py",
        "            if self.units.under_way is not None or not self._begin_unit():",
        "            if (self.units.under_way is not None and not self.inputs.channels) or not self._begin_unit():",
        "W1, I7",
        "tests/protocol/test_participant.py",
    ),
    Mutant(
        "replayed units are logged again",
        "participant/participant.py",
        "        if unit.replayed:\n            self._finish",
        "        if False:\n            self._finish",
        "W3",
        "tests/protocol/test_participant.py",
    ),
    Mutant(
        "numbers of units begin again with each life",
        "participant/unit_log.py",
        "        self.taken = snapshot.taken\n",
        "        self.taken = 0\n",
        "W3, W4",
        "tests/protocol/test_participant.py",
    ),
    Mutant(
        "a replay takes what comes first",
        "participant/participant.py",
        "self.inputs.choose(self.blocked) if entry is None else entry.channel",
        "self.inputs.choose(self.blocked)",
        "W3, I39",
        "tests/protocol/test_participant.py",
    ),
    Mutant(
        "a source reads other ranges than its journal names",
        "participant/participant.py",
        "again = None if entry is None else entry.range",
        "again = None",
        "W3, I39",
        "tests/protocol/test_participant.py",
    ),
    Mutant(
        "a journal with a hole is replayed",
        "participant/unit_log.py",
        "        return [entry.number for entry in self.journal] == [\n            self.taken + step for step in range(1, len(self.journal) + 1)\n        ]\n",
        "        return not self.journal or self.journal[0].number == self.taken + 1\n",
        "W4",
        "tests/protocol/test_participant.py",
    ),
    Mutant(
        "a source that was told to stop reads on",
        "participant/unit_log.py",
        "return self.ended or self.stopped_by is not None",
        "return self.ended",
        "W5, I44",
        "tests/protocol/test_passage.py",
    ),
    Mutant(
        "a source that ended has not after a restart",
        "participant/unit_log.py",
        "        self.ended = snapshot.ended\n",
        "        self.ended = False\n",
        "W5, I46",
    ),
    Mutant(
        "of a journal in doubt all is taken again",
        "participant/unit_log.py",
        "return tuple(takewhile(lambda entry: (entry.channel, entry.batch) in held, entries))",
        "return tuple(entries)",
        "W6, R10",
        "tests/protocol/test_units.py",
    ),
    Mutant(
        "a journal in doubt is replayed behind its first gap",
        "participant/unit_log.py",
        "return tuple(takewhile(lambda entry: (entry.channel, entry.batch) in held, entries))",
        "return tuple(entry for entry in entries if (entry.channel, entry.batch) in held)",
        "W6, R10",
        "tests/protocol/test_units.py",
    ),
    Mutant(
        "of a journal in doubt nothing is taken again",
        "participant/unit_log.py",
        "if use is JournalUse.VOID or snapshot is None:",
        "if use is not JournalUse.WHOLE:",
        "W6, R10",
        "tests/protocol/test_units.py",
    ),
)
