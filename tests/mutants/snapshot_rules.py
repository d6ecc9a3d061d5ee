"""Mutants for the rules of snapshots in theory: the general algorithm, and what a consistent cut is.

The pipelines do not call this code, they are compared with it: so its own tests have to notice.
"""

from __future__ import annotations

from tests.mutants.mutant import Mutant

GENERAL = "tests/protocol/test_chandy_lamport.py"
CUT = "tests/protocol/test_consistent_cut.py"

MUTANTS: tuple[Mutant, ...] = (
    # ---- the snapshot of Chandy and Lamport
    Mutant(
        "a second initiator records itself anew",
        "chandy_lamport.py",
        "if snapshot in self._parts or snapshot in self._ended:",
        "if snapshot in self._ended:",
        "L1",
        GENERAL,
    ),
    Mutant(
        "the state is that of the last marker, not of the first",
        "chandy_lamport.py",
        "        if snapshot in self._parts or snapshot in self._ended:  # L1, L8\n",
        "        if snapshot in self._parts:\n            self._parts[snapshot].state = state\n        if snapshot in self._parts or snapshot in self._ended:\n",
        "L2",
        GENERAL,
    ),
    Mutant(
        "no marker goes back to where the first one came from",
        "chandy_lamport.py",
        "sent = self._begin(event.item.snapshot, event.state)",
        "sent = tuple(\n            one\n            for one in self._begin(event.item.snapshot, event.state)\n            if one.channel.receiver != event.channel.sender\n        )",
        "L3",
        GENERAL,
    ),
    Mutant(
        "the end is said before the markers go out",
        "chandy_lamport.py",
        "return sent + self._end(event.item.snapshot)",
        "return self._end(event.item.snapshot) + sent",
        "L3",
        GENERAL,
    ),
    Mutant(
        "the channel of the first marker is recorded like any other",
        "chandy_lamport.py",
        "        sent = self._begin(event.item.snapshot, event.state)\n        self._close(event.item.snapshot, event.channel)\n",
        "        self._close(event.item.snapshot, event.channel)\n        sent = self._begin(event.item.snapshot, event.state)\n",
        "L4",
        GENERAL,
    ),
    Mutant(
        "what comes behind a marker is recorded as well",
        "chandy_lamport.py",
        "if channel in part.open:",
        "if part.open:",
        "L5",
        GENERAL,
    ),
    Mutant(
        "one channel may still be open at the end",
        "chandy_lamport.py",
        "if part is None or part.open:",
        "if part is None or len(part.open) > 1:",
        "L6",
        GENERAL,
    ),
    Mutant(
        "without incoming channels there is no end",
        "chandy_lamport.py",
        "self._begin(event.snapshot, event.state) + self._end(event.snapshot)",
        "self._begin(event.snapshot, event.state)",
        "L6",
        GENERAL,
    ),
    Mutant(
        "only the newest snapshot goes on recording",
        "chandy_lamport.py",
        "for part in self._parts.values():",
        "for part in list(self._parts.values())[-1:]:",
        "L7",
        GENERAL,
    ),
    Mutant(
        "a snapshot that has ended begins again",
        "chandy_lamport.py",
        "if snapshot in self._parts or snapshot in self._ended:",
        "if snapshot in self._parts:",
        "L8, I11",
        GENERAL,
    ),
    Mutant(
        "a snapshot is whole without everybody",
        "chandy_lamport.py",
        "if not own.keys() >= set(processes):",
        "if not own:",
        "L9",
        GENERAL,
    ),
    Mutant(
        "only neighbours of an initiator are reached",
        "chandy_lamport.py",
        "                waiting.append(channel.receiver)\n",
        "",
        "L9",
        GENERAL,
    ),
    # ---- consistent cuts
    Mutant(
        "a cut may have holes within a process",
        "consistent_cut.py",
        '            if before is not None and before not in cut:  # K1\n                found.append(Violation(event, before, f"it is earlier in {event.process}"))\n',
        "",
        "K1",
        CUT,
    ),
    Mutant(
        "a receipt may be in the cut without its sending",
        "consistent_cut.py",
        '            if event.received is not None and sender[event.received] not in cut:  # K2\n                found.append(Violation(event, sender[event.received], f"{event.name} received what it sent"))\n',
        "",
        "K2, I8",
        CUT,
    ),
    Mutant(
        "what is received behind the cut is not under way at it",
        "consistent_cut.py",
        "received = {event.received for event in inside}",
        "received = {event.received for line in history for event in line}",
        "K3",
        CUT,
    ),
    Mutant(
        "a number may be missing from a record",
        "consistent_cut.py",
        '    if last < sent:\n        found.append(f"{channel}: {_range(last + 1, sent)} lost: sent, neither applied nor in the channel state")\n',
        "",
        "K4, I8",
        CUT,
    ),
    Mutant(
        "channel state may stand in any order",
        "consistent_cut.py",
        "if queued != wanted:",
        "if tuple(sorted(queued)) != wanted:",
        "K4",
        CUT,
    ),
    Mutant(
        "a receiver may never be ahead",
        "consistent_cut.py",
        "if last > sent and not catching_up:",
        "if last > sent:",
        "K5",
        CUT,
    ),
    Mutant(
        "whoever catches up may have lost something",
        "consistent_cut.py",
        "if last < sent:",
        "if last < sent and not catching_up:",
        "K5",
        CUT,
    ),
    Mutant(
        "an aligned cut may hold nothing on back-edges",
        "consistent_cut.py",
        "if batches and channel.edge not in topology.back_edges",
        "if batches",
        "K6",
        CUT,
    ),
)
