"""What a batch carries: slices come out as they went in, named after the batch; the digest tells other rows apart."""

from __future__ import annotations

import json
import zlib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatunnel_py.api import Determinism, SourceCapabilities, TablePath
from seatunnel_py.api.sink import Visible
from seatunnel_py.plan.pipelines import PlannedChannel, PlannedVertex
from seatunnel_py.protocol.model.ids import Channel, Subtask
from seatunnel_py.protocol.model.stream_elements import BatchHandle
from seatunnel_py.runtime.subtasks.unit_builder import UnitBuilder
from seatunnel_py.runtime.targets.prepared_pipeline import PreparedPipeline
from seatunnel_py.runtime.values import channel_payload
from seatunnel_py.work.unit import Slice, Unit, UnitId
from tests.kit.machine_bench import MachineBench
from tests.kit.runtime_toys import filter_node
from tests.kit.toy_jobs import fork

WAY = Channel(3, Subtask("a", 1), Subtask("b", 2))
numbers = st.integers(0, 2**40)
slices = st.builds(
    Slice,
    st.text(max_size=5),
    st.integers(0, 99),
    st.builds(TablePath, st.text(max_size=5), st.text(max_size=5), st.text(max_size=5)),
    st.text(max_size=9),
    st.integers(0, 99),
    numbers,
    numbers,
    st.integers(0, 2**32 - 1),
)


def sent(given: list[Slice], number: int = 1, *, ordered: bool = True, numbering: str = "") -> BatchHandle:
    """The batch that the other end sees, after it lay in a record."""
    channel, payload, rows, digest = channel_payload.output(WAY, given, ordered=ordered, numbering=numbering)
    assert channel == WAY
    return BatchHandle(number, rows, digest, json.loads(json.dumps(payload)))


@given(st.lists(slices), st.integers(1, 99))
def test_slices_come_out_as_they_went_in_named_after_their_batch(given: list[Slice], number: int) -> None:
    """Also after they lay in a record, where channel state keeps them."""
    batch = sent(given, number)
    found = channel_payload.slices_of(batch, WAY)

    assert [replace(one, channel="", sequence=0) for one in found] == [
        replace(one, channel="", sequence=0) for one in given
    ]
    assert {(one.channel, one.sequence) for one in found} <= {(found[0].channel, number)} if found else not given
    assert channel_payload.size(batch) == len(given)
    assert batch.rows == sum(one.rows for one in given)
    assert not channel_payload.is_end(batch)


def test_the_data_id_of_a_batch_says_who_sent_what_to_whom() -> None:
    """Another batch, sender, receiver, edge or numbering is another id: a sink tells "again" from "more" by it."""
    one = [Slice("c", 0, TablePath.parse("x"), "mem:", 0, 1, 1)]
    ways = [WAY, replace(WAY, edge=4), replace(WAY, sender=Subtask("a", 2)), replace(WAY, receiver=Subtask("b"))]
    ids = {
        Unit(UnitId("b", 1), slices=channel_payload.slices_of(sent(one, number, numbering=numbering), way)).data_id
        for way in ways
        for number in (1, 2)
        for numbering in ("", "1.2", "1.3")
    }

    assert len(ids) == 24


@given(st.lists(slices))
def test_word_of_an_end_is_an_end_and_holds_no_rows(given: list[Slice]) -> None:
    ends = channel_payload.ending([WAY, replace(WAY, edge=4)])

    assert [channel for channel, *_ in ends] == [WAY, replace(WAY, edge=4)]
    for _, payload, rows, digest in ends:
        batch = BatchHandle(1, rows, digest, json.loads(json.dumps(payload)))
        assert channel_payload.is_end(batch)
        assert (channel_payload.size(batch), channel_payload.slices_of(batch, WAY), batch.rows) == (0, (), 0)


@given(st.lists(slices, min_size=1), st.data())
def test_the_digest_tells_other_rows_apart_and_not_where_they_lie(given: list[Slice], data: st.DataObject) -> None:
    """A second run writes the same rows into another segment, and may cut them into other slices."""
    given = [replace(one, crc=zlib.crc32(one.segment.encode())) for one in sorted(given, key=lambda one: one.segment)]
    at = data.draw(st.integers(0, len(given) - 1))
    changed = [replace(one, crc=one.crc ^ 1) if one.segment == given[at].segment else one for one in given]
    moved = [replace(one, segment=f"{one.segment}+") for one in given]
    cut = [*given[:at], replace(given[at], rows=given[at].rows // 2), *given[at:]]
    cut[at + 1] = replace(given[at], rows=given[at].rows - given[at].rows // 2)

    assert sent(moved).digest == sent(cut).digest == sent(given).digest
    assert sent(changed).digest != sent(given).digest


@given(st.lists(slices, min_size=1), st.randoms())
def test_where_order_may_change_the_digest_is_their_number(given: list[Slice], random: st.DataObject) -> None:
    """Rows that come in another order have other checksums, but not another number."""
    again = [replace(one, crc=one.crc ^ 1) for one in given]
    random.shuffle(again)  # type: ignore[attr-defined]

    assert sent(again, ordered=False).digest == sent(given, ordered=False).digest == sum(one.rows for one in given)


@pytest.mark.parametrize(
    ("promised", "same"),
    [(Determinism.DETERMINATE, False), (Determinism.UNORDERED, True), (Determinism.INDETERMINATE, True)],
)
def test_behind_a_vertex_whose_order_may_change_every_order_may(promised: Determinism, same: bool) -> None:
    """Its receivers get rows in another order when they come again, and so do theirs."""
    a, f, k = "x", "x-f", "x>0"
    line = fork("x", (5,), 1, 1, Visible.COMMITTED)
    head, last = line.vertices
    assert head.source is not None
    source = replace(head.source, capabilities=SourceCapabilities(determinism=promised))
    first, second = (PlannedChannel(f"{one}>{two}", one, two, TablePath.parse("x")) for one, two in ((a, f), (f, k)))
    vertices = (
        replace(head, nodes=(source,), outputs=(first,)),
        PlannedVertex(f, (filter_node(f, "x"),), (first,), (second,)),
        replace(last, inputs=(second,)),
    )
    context = MachineBench(replace(line, vertices=vertices)).machine.context
    builder = UnitBuilder(context, vertices[1], Subtask(f, 0), PreparedPipeline({}, {}))
    rows = Slice(f, 0, second.table, "mem:0", 0, 5, 40, crc=1)
    ((_, _, _, digest),) = builder.outputs_of([rows], "")
    ((_, _, _, again),) = builder.outputs_of([replace(rows, crc=2)], "")

    assert (digest == again) is same
