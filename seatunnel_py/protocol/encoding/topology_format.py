"""A topology as plain data, for records: a later driver must know the graph of its snapshots.

Rules. (TF1) Reading gives a valid topology or an error: its own checks run again. (TF2) The data is complete.

May not know: records, and the use of a graph.
"""

from __future__ import annotations

from seatunnel_py.protocol.encoding.validation import flag, mapping, number, row, rows, text
from seatunnel_py.protocol.model.stream_elements import Plain
from seatunnel_py.protocol.model.topology import Edge, SinkKind, Spread, Topology, Vertex, VertexDeterminism


def from_topology(topology: Topology) -> Plain:
    """Convert a topology to data for JSON."""
    return {
        "vertices": [
            [one.id, one.parallelism, one.determinism.value, one.sink.value, one.replayable, one.scope]
            for one in topology.vertices
        ],
        "edges": [[one.sender, one.receiver, one.spread.value, one.retained] for one in topology.edges],
        "version": topology.version,
        "detached": [*sorted(topology.detached)],
    }


def to_topology(plain: Plain) -> Topology:
    """Convert data to a topology; KeyError, TypeError or ValueError if it is not one."""
    data = mapping(plain)
    if strange := data.keys() - {"vertices", "edges", "version", "detached"}:
        raise ValueError(f"{min(strange)!r} is not known")
    return Topology(
        tuple(_vertex(*row(one, 6)) for one in rows(data["vertices"])),
        tuple(_edge(*row(one, 4)) for one in rows(data["edges"])),
        number(data["version"]),
        frozenset(text(one) for one in rows(data["detached"])),
    )


def _vertex(
    name: Plain, parallelism: Plain, determinism: Plain, sink: Plain, replayable: Plain, scope: Plain
) -> Vertex:
    kinds = VertexDeterminism(text(determinism)), SinkKind(text(sink))
    return Vertex(text(name), number(parallelism), *kinds, flag(replayable), text(scope))


def _edge(sender: Plain, receiver: Plain, spread: Plain, retained: Plain) -> Edge:
    return Edge(text(sender), text(receiver), Spread(text(spread)), flag(retained))
