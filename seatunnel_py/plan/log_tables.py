"""Takes tables out of a planned log: those that are not copied, or that an earlier driver did not follow. Adds tables
that were copied since. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from seatunnel_py.api.schema import TablePath
from seatunnel_py.plan.pipelines import Pipeline, PlannedChannel, PlannedVertex


def vertex_of(pipeline: Pipeline) -> PlannedVertex:
    """The vertex that reads its log."""
    return next(vertex for vertex in pipeline.vertices if vertex.source is not None and vertex.source.part.is_log)


def following(pipeline: Pipeline, tables: Collection[TablePath]) -> Pipeline:
    """The pipeline of a log for these of its tables only, at least one: without the vertices that no other feeds."""
    log = pipeline.log
    assert log is not None, f"{pipeline.name} follows no log"
    kept = tuple(table for table in log.tables if table.schema.path in tables)
    if len(kept) == len(log.tables):
        return pipeline
    vertices: dict[str, PlannedVertex] = {}
    for vertex in pipeline.vertices:  # senders come first
        if vertex.source is log:
            node = replace(log, table=kept[0], log_tables=kept)
            outputs = tuple(one for one in vertex.outputs if one.table in tables)
            vertices[vertex.id] = replace(vertex, nodes=(node, *vertex.nodes[1:]), outputs=outputs)
            continue
        inputs = tuple(one for one in vertex.inputs if _comes(one.id, vertices.get(one.sender)))
        if inputs or not vertex.inputs:
            vertices[vertex.id] = replace(vertex, inputs=inputs)
    outputs_left = {
        name: tuple(one for one in vertex.outputs if one.receiver in vertices) for name, vertex in vertices.items()
    }
    return replace(pipeline, vertices=tuple(replace(one, outputs=outputs_left[one.id]) for one in vertices.values()))


def _comes(channel: str, sender: PlannedVertex | None) -> bool:
    return sender is not None and any(one.id == channel for one in sender.outputs)


def tables_reaching(pipeline: Pipeline, vertices: Collection[str]) -> frozenset[TablePath]:
    """The tables of its log whose rows reach one of these vertices directly."""
    log = pipeline.log
    assert log is not None, f"{pipeline.name} follows no log"
    source = vertex_of(pipeline)
    if not source.outputs:
        return frozenset(table.schema.path for table in log.tables if source.id in vertices)
    return frozenset(one.table for one in source.outputs if one.receiver in vertices)


def tables_by_vertex(pipeline: Pipeline) -> dict[str, frozenset[TablePath]]:
    """The tables of its log whose rows reach each vertex."""
    found: dict[str, frozenset[TablePath]] = {}
    for vertex in pipeline.vertices:  # senders come first
        if vertex.source is not None:
            found[vertex.id] = frozenset(table.schema.path for table in vertex.source.tables)
            continue
        sources = {one.id for one in pipeline.vertices if one.source is not None}
        own = (frozenset({one.table}) if one.sender in sources else found[one.sender] for one in vertex.inputs)
        found[vertex.id] = frozenset().union(*own)
    return found


def fused(pipeline: Pipeline) -> Pipeline:
    """The pipeline of a log with one table, as it is planned for that table alone: the log has no channel."""
    source = vertex_of(pipeline)
    assert len(source.outputs) == 1, f"{pipeline.name} has other channels than that of one table"
    behind = next(vertex for vertex in pipeline.vertices if vertex.id == source.outputs[0].receiver)
    moved = tuple(replace(one, id=f"{source.id}>{one.receiver}", sender=source.id) for one in behind.outputs)
    chain = replace(source, nodes=(*source.nodes, *behind.nodes), outputs=moved)
    vertices = [
        replace(one, inputs=tuple(_moved(channel, moved, behind.id) for channel in one.inputs))
        for one in pipeline.vertices
        if one not in (source, behind)
    ]
    return replace(pipeline, vertices=(chain, *vertices))


def _moved(channel: PlannedChannel, moved: tuple[PlannedChannel, ...], sender: str) -> PlannedChannel:
    if channel.sender != sender:
        return channel
    return next(one for one in moved if (one.receiver, one.table) == (channel.receiver, channel.table))


def unfused(pipeline: Pipeline) -> Pipeline:
    """The inverse of ``fused``: the pipeline as it is planned for that table among others."""
    chain = vertex_of(pipeline)
    assert chain.source is not None and len(chain.nodes) > 1, f"{pipeline.name} has no steps in the vertex of its log"
    receiver = f"{chain.nodes[1].id}<{chain.nodes[0].id}"
    channel = PlannedChannel(f"{chain.id}>{receiver}", chain.id, receiver, chain.source.table.schema.path)
    moved = tuple(replace(one, id=f"{receiver}>{one.receiver}", sender=receiver) for one in chain.outputs)
    behind = replace(chain, id=receiver, nodes=chain.nodes[1:], inputs=(channel,), outputs=moved)
    others = [
        replace(one, inputs=tuple(_moved(channel, moved, chain.id) for channel in one.inputs))
        for one in pipeline.vertices
        if one is not chain
    ]
    return replace(pipeline, vertices=(replace(chain, nodes=chain.nodes[:1], outputs=(channel,)), behind, *others))


def grown(begun: Pipeline, tables: Collection[TablePath]) -> Pipeline:
    """The pipeline of a log with these tables besides its own, whose nodes stay as they are; without those of its own
    that the job no longer has."""
    log, whole = begun.log, begun.becomes
    assert log is not None and whole is not None, f"{begun.name} does not grow"
    known = {node.id: node for vertex in begun.vertices for node in vertex.nodes}
    own = {table.schema.path: table for table in log.tables}
    larger = following(whole, own.keys() | set(tables))
    assert larger.log is not None, f"{begun.name} follows no log"
    together = tuple(own.get(table.schema.path, table) for table in larger.log.tables)
    known[log.id] = replace(log, table=together[0], log_tables=together)
    vertices = (replace(one, nodes=tuple(known.get(node.id, node) for node in one.nodes)) for one in larger.vertices)
    return replace(larger, vertices=tuple(vertices))


def ordered(pipeline: Pipeline, tables: Sequence[TablePath], vertices: Sequence[str]) -> Pipeline:
    """The pipeline of a log, with its tables and vertices in this order: a job file may name its tables in another one
    than that of the checkpoint."""
    log, place = pipeline.log, {name: at for at, name in enumerate(vertices)}
    assert log is not None, f"{pipeline.name} follows no log"
    known = {path: at for at, path in enumerate(tables)}

    def at_table(path: TablePath) -> int:
        return known.get(path, len(known))

    read = tuple(sorted(log.tables, key=lambda one: at_table(one.schema.path)))
    found = []
    for vertex in sorted(pipeline.vertices, key=lambda one: place.get(one.id, len(place))):
        nodes = tuple(replace(log, table=read[0], log_tables=read) if node is log else node for node in vertex.nodes)
        by_table = (
            vertex.outputs if vertex.source is None else sorted(vertex.outputs, key=lambda one: at_table(one.table))
        )
        found.append(replace(vertex, nodes=nodes, outputs=tuple(by_table)))
    return replace(pipeline, vertices=tuple(found))


def with_channels(pipeline: Pipeline) -> Pipeline:
    """The pipeline, whose log has a channel for its only table too."""
    return pipeline if vertex_of(pipeline).outputs else unfused(pipeline)


def without_channel(pipeline: Pipeline) -> Pipeline:
    """The pipeline, whose log has no channel if it has one table."""
    return fused(pipeline) if len(vertex_of(pipeline).outputs) == 1 else pipeline


def without(pipeline: Pipeline, tables: Collection[TablePath]) -> Pipeline:
    """The pipeline of a log that these tables leave first, to be copied again, and then join."""
    whole = with_channels(pipeline)
    return replace(following(whole, set(whole.tables).difference(tables)), becomes=whole)


def copied_again(pipeline: Pipeline) -> frozenset[TablePath]:
    """The tables of a log that leave it to be copied again."""
    rest = pipeline.becomes
    whole = None if rest is None else rest.becomes
    return frozenset() if rest is None or whole is None else frozenset(whole.tables).difference(rest.tables)


def leaving(pipeline: Pipeline) -> tuple[TablePath, ...]:
    """The tables of a log that the job no longer has."""
    now = pipeline.becomes
    return () if now is None else tuple(path for path in pipeline.tables if path not in now.tables)
