"""Mutants for the rules of plans: who restarts from what, and how a record is read into another graph.

Those of the snapshots and failures that plans are made of stand in files of their own.
"""

from __future__ import annotations

from tests.mutants import failure_rules, snapshot_rules
from tests.mutants.mutant import Mutant

REGIONS = "tests/protocol/test_regions.py"
PLAN = "tests/protocol/test_restart_plan.py"
RESTORE = "tests/protocol/test_restore.py"

MUTANTS: tuple[Mutant, ...] = (
    *snapshot_rules.MUTANTS,
    *failure_rules.MUTANTS,
    # ---- restart regions; more of them in simulated.py
    Mutant(
        "all vertices are one pipeline",
        "failover/regions.py",
        "dict.fromkeys(reach(both_ways, [vertex.id]), vertex.id)",
        "dict.fromkeys(both_ways, vertex.id)",
        "R1",
        REGIONS,
    ),
    Mutant(
        "of several failures only one is answered",
        "failover/regions.py",
        "for name in failed if name not in topology.detached]",
        "for name in sorted(failed)[:1] if name not in topology.detached]",
        "R2, I26",
    ),
    Mutant(
        "a back-edge is no input",
        "failover/regions.py",
        "        if not edge.retained:\n            follows",
        "        if not edge.retained and topology.edges.index(edge) not in topology.back_edges:\n            follows",
        "R3, I20",
        killer="tests/protocol/test_regions.py",
    ),
    Mutant(
        "only the next ones below the indeterminate restart",
        "failover/regions.py",
        "append((_DIFFERS, edge.receiver))",
        "append((_RESTARTS, edge.receiver))",
        "R4, I20",
    ),
    Mutant(
        "one retained channel makes a source replayable",
        "failover/regions.py",
        "return any(edge.sender == name and not edge.retained for edge in live_edges(topology))",
        "return not any(edge.sender == name and edge.retained for edge in live_edges(topology))",
        "R5",
        REGIONS,
    ),
    Mutant(
        "a channel that is cut needs a cache",
        "failover/regions.py",
        "return any(edge.sender == name and not edge.retained for edge in live_edges(topology))",
        "return any(edge.sender == name and not edge.retained for edge in topology.edges)",
        "R6",
        REGIONS,
    ),
    Mutant(
        "what is retained is fetched from its sender's new life all the same",
        "failover/regions.py",
        "        if not edge.retained:\n            follows",
        "        if True:\n            follows",
        "R7, R3",
    ),
    Mutant(
        "survivors get a new epoch, too",
        "failover/regions.py",
        "epochs.get(name, 0) + (name in region)",
        "epochs.get(name, 0) + 1",
        "R8, I21",
    ),
    Mutant(
        "a sender does not learn what its receiver wants again",
        "failover/regions.py",
        "SendPeerRestarted(subtask, incarnation, told, wanted)",
        "SendPeerRestarted(subtask, incarnation, told, {})",
        "R9",
    ),
    Mutant(
        "whoever reads other rows replays his journal all the same",
        "failover/regions.py",
        "if replay_differs(topology, name) else JournalUse.HELD for name",
        "if replay_differs(topology, name) else JournalUse.WHOLE for name",
        "R10, I39",
        killer="tests/protocol/test_restart_plan.py",
    ),
    Mutant(
        "what a snapshot holds below the indeterminate is void as well",
        "failover/regions.py",
        "JournalUse.VOID if replay_differs(topology, name) else JournalUse.HELD for name",
        "JournalUse.VOID for name",
        "R10",
        PLAN,
    ),
    Mutant(
        "who joins takes his senders along",
        "failover/regions.py",
        "return _plan(topology, frozenset(vertices), ",
        "return _plan(topology, restart_set(topology, vertices), ",
        "R11, I21",
        PLAN,
    ),
    Mutant(
        "a receiver that is ahead of a sender that makes other batches is restored",
        "failover/regions.py",
        "> snapshots[channel.sender].sent.get(channel, 0)",
        "< snapshots[channel.sender].sent.get(channel, 0)",
        "R12, I22",
        PLAN,
    ),
    # ---- a record in another graph
    Mutant(
        "a key group may be in two hands",
        "failover/restore.py",
        "if group is None or group in found:",
        "if group is None:",
        "RS1, I45",
        RESTORE,
    ),
    Mutant(
        "a state that is not keyed is dealt like one that is",
        "failover/restore.py",
        "if not (_keyed(vertex, old) and _keyed(vertex, new)):",
        "if not _keyed(vertex, new):",
        "RS1, RS3, I45",
        RESTORE,
    ),
    Mutant(
        "every reader gets all finished splits",
        "failover/restore.py",
        "            splits.finished[at::parallelism],\n",
        "            splits.finished,\n",
        "RS2, I41",
        RESTORE,
    ),
    Mutant(
        "a split may be assigned twice",
        "failover/restore.py",
        "if count > 1):",
        "if count > 2):",
        "RS2, I41",
        RESTORE,
    ),
    Mutant(
        "key groups are dealt in turn, not as they are routed",
        "failover/restore.py",
        "if subtask_of(group, parallelism) == at}",
        "if group % parallelism == at}",
        "RS3, I45",
        RESTORE,
    ),
    Mutant(
        "a channel goes on though one of its ends has changed",
        "failover/restore.py",
        "if all(_unchanged(end, old, new) for end in ends):",
        "if any(_unchanged(end, old, new) for end in ends):",
        "RS4",
        RESTORE,
    ),
    Mutant(
        "what was queued on a channel that begins anew is dropped",
        "failover/restore.py",
        "if queued and channel.edge not in kept:",
        "if queued and channel.edge in record.topology.back_edges and channel.edge not in kept:",
        "RS4, I45",
        RESTORE,
    ),
    Mutant(
        "a receiver may be ahead of its sender in another graph",
        "failover/restore.py",
        "if received != sent:",
        "if received < sent:",
        "RS5, I8",
        RESTORE,
    ),
    Mutant(
        "what was staged is named a second time",
        "failover/restore.py",
        "        pieces=(),\n",
        "        pieces=snapshot.pieces,\n",
        "RS6",
        RESTORE,
    ),
    Mutant(
        "state of a vertex that is gone is given up silently",
        "failover/restore.py",
        "_unsettled(record, kept) or _abandoned(record, new, give_up):",
        "_unsettled(record, kept):",
        "RS7, I45",
        RESTORE,
    ),
    Mutant(
        "units are counted on from the slowest subtask",
        "failover/restore.py",
        "taken = max(snapshot.taken for snapshot in before)",
        "taken = min(snapshot.taken for snapshot in before)",
        "RS8",
        RESTORE,
    ),
    Mutant(
        "who was left out comes back with another graph",
        "failover/restore.py",
        "detached=record.topology.detached & new.by_id.keys())",
        "detached=frozenset())",
        "RS9",
        RESTORE,
    ),
    Mutant(
        "the graph changes under those who were left out",
        "failover/restore.py",
        "if why := _shaken(old, new) or _unsettled",
        "if why := _unsettled",
        "RS9",
        RESTORE,
    ),
)
