"""Where a reader goes on: offsets have holes, logs lose their beginnings, and topics are made anew."""

from __future__ import annotations

import itertools
import time
from dataclasses import replace

import pytest
from confluent_kafka import TopicPartition

from seatunnel_connectors.kafka.source.reader import place_of
from seatunnel_py.api import Batch, FatalError, Heartbeat, Position, RetriableError
from seatunnel_py.api.process.resources import close_all
from tests.connectors.kafka.markers import settled
from tests.connectors.kafka.support import (
    ROW,
    all_rows,
    in_transaction,
    read,
    row,
    send,
    source,
    splits_of,
    transactional,
)
from tests.connectors.kafka.topics import CALL_SECONDS, admin_of, grow, make_topic
from tests.servers.kafka import KafkaServer

WAIT_SECONDS = 60.0


@pytest.fixture(autouse=True)
def _clients() -> object:
    yield
    close_all()


def delete_before(kafka: KafkaServer, topic: str, offset: int) -> None:
    """What retention does: the log begins later."""
    spot = TopicPartition(topic, 0, offset)
    admin_of(kafka.dsn).delete_records([spot], request_timeout=CALL_SECONDS)[spot].result()


def test_a_bounded_split_ends_at_the_end_of_the_start(kafka: KafkaServer, topic: str) -> None:
    make_topic(kafka, topic)
    send(kafka, topic, [row(seq) for seq in range(100)])
    made = source(kafka, topic)
    [split] = splits_of(made)
    send(kafka, topic, [row(seq) for seq in range(100, 200)])

    assert [seq for seq, _ in read(made, split).rows] == list(range(100))


def test_partitions_without_messages_have_no_split(kafka: KafkaServer, topic: str) -> None:
    make_topic(kafka, topic, partitions=3)
    send(kafka, topic, [row(1)], partition=1)

    assert [split.id for split in splits_of(source(kafka, topic))] == [f"{topic}/{topic}-1"]


def test_markers_of_transactions_are_holes(kafka: KafkaServer, topic: str) -> None:
    """The log ends with a marker, which is an offset and no message: a reader that counted would wait for ever."""
    make_topic(kafka, topic)
    producer = transactional(kafka, topic)
    for first in range(0, 50, 10):
        in_transaction(kafka, producer, topic, [row(seq) for seq in range(first, first + 10)], commit=True)
    made = source(kafka, topic)
    [split] = splits_of(made)

    assert split.payload["end"] == 55
    found = read(made, split)
    assert [seq for seq, _ in found.rows] == list(range(50))
    assert found.end is not None and place_of(found.end).offset == 55


def test_aborted_transactions_are_not_read(kafka: KafkaServer, topic: str) -> None:
    make_topic(kafka, topic)
    producer = transactional(kafka, topic)
    in_transaction(kafka, producer, topic, [row(1)], commit=True)
    in_transaction(kafka, producer, topic, [row(2)], commit=False)
    in_transaction(kafka, producer, topic, [row(3)], commit=True)
    in_transaction(kafka, producer, topic, [row(4)], commit=False)

    assert [seq for seq, _ in all_rows(source(kafka, topic))] == [1, 3]


def test_an_open_transaction_is_behind_the_end(kafka: KafkaServer, topic: str) -> None:
    make_topic(kafka, topic)
    producer = transactional(kafka, topic)
    in_transaction(kafka, producer, topic, [row(1)], commit=True)
    producer.begin_transaction()
    producer.produce(topic, value=row(2), partition=0)
    assert producer.flush(CALL_SECONDS) == 0

    made = source(kafka, topic)
    assert [seq for seq, _ in all_rows(made)] == [1]
    producer.commit_transaction(CALL_SECONDS)
    assert settled(kafka.dsn, topic, CALL_SECONDS)
    assert [seq for seq, _ in all_rows(made)] == [1, 2]


def test_a_compacted_log_is_read_to_its_end(kafka: KafkaServer, topic: str) -> None:
    make_topic(
        kafka, topic, cleanup_policy="compact", segment_ms="100", min_cleanable_dirty_ratio="0.01", max_compaction_lag_ms="100"
    )  # fmt: skip
    for seq in range(20):
        send(kafka, topic, [row(seq)], key=b"same")
    deadline = time.monotonic() + WAIT_SECONDS
    found: list[object] = []
    while set(found) != {20}:  # the last segment is never compacted, and a new one begins only with a message
        assert time.monotonic() < deadline, f"the log was not compacted: {found}"
        send(kafka, topic, [row(20)], key=b"same")
        time.sleep(0.2)
        found = [seq for seq, _ in all_rows(source(kafka, topic))]


def test_a_position_goes_on_inside_a_split(kafka: KafkaServer, topic: str) -> None:
    """Wherever a unit stops, the next one begins with the row behind, in this process or in another."""
    make_topic(kafka, topic)
    send(kafka, topic, [row(seq) for seq in range(25_000)])
    made = source(kafka, topic)
    [split] = splits_of(made)
    seen: list[int] = []
    position = None
    for turn in itertools.count():
        reader = made.reader(made.tables()[0])
        elements = reader.read(split, position)
        element = next(elements, None)
        if element is None:
            break
        position = element.end
        if not isinstance(element, Heartbeat):
            seen += element.data.column("seq").to_pylist()
        elements.close()  # type: ignore[attr-defined]
        if turn % 2:
            close_all()  # another process has no consumer that stands there already

    assert seen == list(range(25_000))


def test_what_was_read_once_is_read_to_the_same_end_again(kafka: KafkaServer, topic: str) -> None:
    make_topic(kafka, topic)
    send(kafka, topic, [row(seq) for seq in range(10)])
    made = source(kafka, topic, streaming=True)
    [split] = splits_of(made)
    first = read(made, split)
    send(kafka, topic, [row(seq) for seq in range(10, 20)])

    again = read(made, split, until=first.end)

    assert again.end == first.end and again.rows == first.rows
    assert [seq for seq, _ in read(made, split, first.end).rows] == list(range(10, 20))


def test_a_consumer_that_hears_nothing_is_given_up(
    kafka: KafkaServer, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was promised does not come, however short the units are that wait for it: another consumer may hear more."""
    monkeypatch.setattr("seatunnel_connectors.kafka.source.reader.STALL_SECONDS", 1.0)
    make_topic(kafka, topic)
    send(kafka, topic, [row(0)])
    made = source(kafka, topic)
    [split] = splits_of(made)
    reader = made.reader(made.tables()[0])
    more = replace(split, payload={**split.payload, "end": 2})

    def unit(start: Position | None) -> Position | None:
        elements = reader.read(more, start)
        element = next(elements)
        elements.close()
        assert isinstance(element, Batch | Heartbeat)
        return element.end

    at = unit(None)
    with pytest.raises(RetriableError, match="nothing was heard"):
        for _ in range(100):
            at = unit(at)
    monkeypatch.undo()
    send(kafka, topic, [row(1)])
    assert any(end is not None and place_of(end).offset == 2 for end in (unit(at) for _ in range(400)))


def test_messages_that_retention_took_are_an_error(kafka: KafkaServer, topic: str) -> None:
    """F43: never another position; what was not read is named."""
    make_topic(kafka, topic)
    send(kafka, topic, [row(seq) for seq in range(10)])
    made = source(kafka, topic, streaming=True)
    [split] = splits_of(made)
    elements = made.reader(made.tables()[0]).read(split, None)
    position = next(element.end for element in elements if isinstance(element, Batch))  # a slow broker is waited for
    send(kafka, topic, [row(seq) for seq in range(10, 30)])
    delete_before(kafka, topic, 20)
    close_all()

    with pytest.raises(FatalError, match=rf"topic {topic}, partition 0: offset 10 is gone: it begins at 20 now"):
        read(made, split, position)


def test_people_may_ask_to_go_on_behind_what_is_gone(kafka: KafkaServer, topic: str) -> None:
    make_topic(kafka, topic)
    send(kafka, topic, [row(seq) for seq in range(10)])
    made = source(kafka, topic, **{"kafka.config": {"auto.offset.reset": "earliest"}})
    [split] = splits_of(made)
    delete_before(kafka, topic, 4)

    assert [seq for seq, _ in read(made, split).rows] == list(range(4, 10))


def test_a_topic_that_was_made_anew_is_another_one(kafka: KafkaServer, topic: str) -> None:
    """F43: the same offsets are other messages."""
    make_topic(kafka, topic)
    send(kafka, topic, [row(seq) for seq in range(10)])
    made = source(kafka, topic, streaming=True)
    enumerator = made.enumerator(made.tables(), None)
    [split] = enumerator.discover()
    position = read(made, split).end
    admin_of(kafka.dsn).delete_topics([topic], request_timeout=CALL_SECONDS)[topic].result()
    make_topic(kafka, topic)
    send(kafka, topic, [row(seq) for seq in range(50)])
    close_all()

    for find_out in (lambda: read(made, split, position), lambda: list(enumerator.discover())):
        with pytest.raises(FatalError, match=f"topic {topic} was deleted and created again"):
            find_out()


def test_a_deleted_topic_is_an_error(kafka: KafkaServer, topic: str) -> None:
    make_topic(kafka, topic)
    made = source(kafka, topic, streaming=True)
    enumerator = made.enumerator(made.tables(), None)
    list(enumerator.discover())
    admin_of(kafka.dsn).delete_topics([topic], request_timeout=CALL_SECONDS)[topic].result()

    with pytest.raises(FatalError, match=topic):
        list(enumerator.discover())


def test_a_broker_that_is_away_is_tried_again(topic: str) -> None:
    with KafkaServer.running() as broker:
        make_topic(broker, topic)
        send(broker, topic, [row(1)])
        made = source(broker, topic, streaming=True)
        [split] = splits_of(made)
        first = read(made, split)
        broker.kill9()
        with pytest.raises(RetriableError, match=f"topic {topic}"):
            deadline = time.monotonic() + WAIT_SECONDS
            while time.monotonic() < deadline:
                read(made, split, first.end)
        broker.start()
        send(broker, topic, [row(2)])
        rows: list[tuple[object, ...]] = []
        while not rows:
            assert time.monotonic() < deadline
            try:
                rows = read(made, split, first.end).rows
            except RetriableError:
                continue
        assert rows == [(2, "n")]
        close_all()


def test_start_modes(kafka: KafkaServer, topic: str) -> None:
    make_topic(kafka, topic)
    long_ago = int(time.time() * 1000) - 1_000_000  # but not so long that retention takes it
    send(kafka, topic, [row(seq) for seq in range(5)], timestamp=long_ago)
    send(kafka, topic, [row(seq) for seq in range(5, 10)], timestamp=long_ago + 1_000)

    def seqs(**options: object) -> list[object]:
        return [seq for seq, _ in all_rows(source(kafka, topic, **options))]

    assert seqs(start_mode="latest") == []
    assert seqs(start_mode="timestamp", **{"start_mode.timestamp": long_ago + 500}) == [5, 6, 7, 8, 9]
    assert seqs(start_mode="timestamp", **{"start_mode.timestamp": long_ago + 1_001}) == []
    assert seqs(start_mode="specific_offsets", **{"start_mode.offsets": {f"{topic}-0": 7}}) == [7, 8, 9]
    with pytest.raises(FatalError, match=f"{topic}-0 holds offsets 0 to 10, and not 11"):
        seqs(start_mode="specific_offsets", **{"start_mode.offsets": {f"{topic}-0": 11}})
    with pytest.raises(FatalError, match="has no partition 3"):
        seqs(start_mode="specific_offsets", **{"start_mode.offsets": {f"{topic}-3": 1}})


def test_a_groups_offsets_are_told_and_begun_at(kafka: KafkaServer, topic: str) -> None:
    make_topic(kafka, topic)
    send(kafka, topic, [row(seq) for seq in range(10)])
    options = {"consumer.group": f"group-{topic}", "start_mode": "group_offsets"}
    made = source(kafka, topic, streaming=True, **options)
    enumerator = made.enumerator(made.tables(), None)
    [split] = enumerator.discover()
    found = read(made, split)
    assert len(found.rows) == 10, "a group that told nothing begins at the beginning"
    assert found.end is not None
    enumerator.on_checkpoint_complete({split.id: found.end})
    send(kafka, topic, [row(10)])

    assert all_rows(source(kafka, topic, **options)) == [(10, "n")]
    quiet = source(kafka, topic, commit_on_checkpoint=False, **options)
    assert all_rows(quiet) == [(10, "n")]


def test_new_partitions_and_topics_are_found_while_it_runs(kafka: KafkaServer, topic: str) -> None:
    """What appears later is read from its beginning, whatever the start mode: nobody has seen any of it."""

    make_topic(kafka, f"{topic}-a")
    made = source(
        kafka, f"{topic}-[ab]", streaming=True, pattern=True, start_mode="latest",
        **{"partition-discovery.interval-millis": 1000},
    )  # fmt: skip
    enumerator = made.enumerator(made.tables(), None)
    assert enumerator.interval == 1.0
    assert len(list(enumerator.discover())) == 1
    assert list(enumerator.discover()) == []

    grow(kafka, f"{topic}-a", 2)
    make_topic(kafka, f"{topic}-b")
    send(kafka, f"{topic}-a", [row(1)], partition=1)
    send(kafka, f"{topic}-b", [row(2)])
    restored = made.enumerator(made.tables(), enumerator.snapshot())
    found = list(restored.discover())
    assert sorted(split.id.rpartition("/")[2] for split in found) == [f"{topic}-a-1", f"{topic}-b-0"]
    assert sorted(seq for split in found for seq, _ in read(made, split).rows) == [1, 2]


def test_a_pattern_that_matches_nothing_is_an_error(kafka: KafkaServer) -> None:
    with pytest.raises(FatalError, match="no topic matches 'nothing.*'"):
        splits_of(source(kafka, "nothing.*", pattern=True))


def test_a_topic_that_is_not_there_is_named(kafka: KafkaServer) -> None:
    with pytest.raises(FatalError, match="topic nowhere"):
        splits_of(source(kafka, "nowhere"))


def test_several_tables_and_several_topics(kafka: KafkaServer, topic: str) -> None:
    for part in "abc":
        make_topic(kafka, f"{topic}-{part}")
        send(kafka, f"{topic}-{part}", [row(ord(part))])
    tables = [
        {"topic": f"{topic}-a, {topic}-b", "start_mode": "earliest", "schema": {**ROW, "table": "db.ab"}},
        {"topic": f"{topic}-c", "start_mode": "earliest", "schema": {**ROW, "table": "db.c"}},
    ]
    made = source(kafka, table_list=tables, schema=None, start_mode=None)

    found = {(split.table.table, seq) for split in splits_of(made) for seq, _ in read(made, split).rows}
    assert found == {("ab", ord("a")), ("ab", ord("b")), ("c", ord("c"))}
