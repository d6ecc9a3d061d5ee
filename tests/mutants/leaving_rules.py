"""Mutants for the rules of tables that leave a running pipeline and come back into it."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

ISOLATING = "tests/protocol/test_isolating.py"
REJOINING = "tests/protocol/test_rejoining.py"

MUTANTS: tuple[Mutant, ...] = (
    # ---- leaving.py
    Mutant(
        "the barrier names only who was asked to leave",
        "leaving.py",
        "tuple(sorted(self.going))",
        "(vertex,)",
        "LE1",
        ISOLATING,
    ),
    Mutant(
        "who leaves along with a table goes on",
        "leaving.py",
        "        gone = leaving(self.shared.topology, vertex)\n",
        "        gone = frozenset({vertex})\n",
        "LE1, IS1",
        ISOLATING,
    ),
    Mutant(
        "what left is still heard",
        "leaving.py",
        "{name: shared.epochs[name] + 1 for name in names}",
        "{}",
        "LE2, I37",
        ISOLATING,
    ),
    Mutant(
        "nobody is told that its life is over",
        "leaving.py",
        "for one in shared.topology.subtasks(names))",
        "for one in shared.topology.subtasks(names) if one.vertex not in gone)",
        "LE2",
        ISOLATING,
    ),
    Mutant(
        "no barrier is asked for again",
        "leaving.py",
        "        if not self.going or any(",
        "        if True or any(",
        "LE3",
        ISOLATING,
    ),
    Mutant(
        "a record does not hold who was left out",
        "leaving.py",
        "        return replace(record, snapshots={**record.snapshots, **stand})",
        "        return record",
        "LE4",
        ISOLATING,
    ),
    Mutant(
        "pieces of who was left out are committed again",
        "leaving.py",
        "replace(snapshot, pieces=(), since=newest.checkpoint)",
        "replace(snapshot, since=newest.checkpoint)",
        "LE4, I28",
        ISOLATING,
    ),
    Mutant(
        "the record at which a table stands may go",
        "leaving.py",
        "for subtask, one in newest.snapshots.items() if subtask.vertex in out)",
        "for subtask, one in newest.snapshots.items() if subtask.vertex not in out)",
        "LE5, IS6, I40",
        ISOLATING,
    ),
    # ---- rejoining.py
    Mutant(
        "a table comes back without the rows that it missed",
        "rejoining.py",
        "        if set(whole.subtasks(vertices)) - brought.keys() or waiting.intersection(lacking):\n",
        "        if waiting.intersection(lacking):\n",
        "RJ1, IS5",
        REJOINING,
    ),
    Mutant(
        "a source comes back that can be read only once",
        "rejoining.py",
        "if name in vertices and not whole.vertex(name).replayable]",
        "if name not in vertices and not whole.vertex(name).replayable]",
        "RJ1",
        REJOINING,
    ),
    Mutant(
        "lives come back that were announced before",
        "rejoining.py",
        "{**self.shared.epochs, **self.coming}",
        "{**self.shared.epochs}",
        "RJ2, I11",
        REJOINING,
    ),
    Mutant(
        "the barrier names the lives that were cut",
        "rejoining.py",
        "self.coming = {name: self.shared.epochs[name] + 1 for",
        "self.coming = {name: self.shared.epochs[name] for",
        "RJ2, I37",
        REJOINING,
    ),
    Mutant(
        "what was brought may end before the barrier",
        "rejoining.py",
        "        return not late\n",
        "        return True\n",
        "RJ3, IS8",
        REJOINING,
    ),
    Mutant(
        "the record does not show who came back",
        "rejoining.py",
        "        return replace(record, topology=whole, snapshots=snapshots,",
        "        return replace(record, snapshots=snapshots,",
        "RJ3",
        REJOINING,
    ),
    Mutant(
        "the record holds a table as it was",
        "rejoining.py",
        "topology=whole, snapshots=snapshots, joined",
        "topology=whole, joined",
        "RJ3, IS8",
        REJOINING,
    ),
    Mutant(
        "lives that come back do not begin",
        "rejoining.py",
        "        self.joined = came\n",
        "",
        "RJ4, IS4",
        REJOINING,
    ),
    Mutant(
        "a later driver takes the journal of a life that was cut",
        "beginning.py",
        "        self.recovery.joining.update(record.joined)\n",
        "",
        "RJ4",
        REJOINING,
    ),
    Mutant(
        "a table comes back below one that has left since",
        "rejoining.py",
        "        if missing_to_rejoin(shared.topology, came):\n            self.leaving",
        "        if not came:\n            self.leaving",
        "RJ5",
        REJOINING,
    ),
)
