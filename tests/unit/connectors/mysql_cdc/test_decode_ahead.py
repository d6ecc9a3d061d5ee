"""Elements made ahead in a thread: the same in the same order, few at a time, and no thread is left."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from random import Random

import pytest

from seatunnel_connectors.mysql_cdc.reading.decode_ahead import decode_ahead
from seatunnel_py.api import Element, Heartbeat, Position, ReaderEvent


def row(number: int) -> ReaderEvent:
    return ReaderEvent({"row": number}, Position({"at": number}))


def beat(number: int) -> Heartbeat:
    return Heartbeat(Position({"at": number}))


class Log:
    """A source of elements that counts them, and can be interrupted while it waits."""

    def __init__(self, elements: list[Element], error: Exception | None = None, pause: Random | None = None) -> None:
        self.elements, self.error, self.pause = elements, error, pause
        self.made = 0
        self.makers = set[int]()
        self.closed_by = 0
        self.interrupted = threading.Event()

    def read(self) -> Iterator[Element]:
        try:
            for element in self.elements:
                self.makers.add(threading.get_ident())
                if self.pause:
                    time.sleep(self.pause.choice((0, 0, 0.001, 0.003)))
                self.made += 1
                yield element
            if self.error is not None:
                raise self.error
        finally:
            self.closed_by = threading.get_ident()

    def wait(self) -> Iterator[Element]:
        """An element, and then a wait that only an interruption ends."""
        yield row(0)
        self.interrupted.wait(60)
        raise ConnectionError("the log was interrupted")

    def ahead(self) -> Iterator[Element]:
        return decode_ahead(self.read(), self.interrupted.set)


def threads() -> set[threading.Thread]:
    return {one for one in threading.enumerate() if one.name == "decode-ahead"}


@pytest.mark.parametrize("seed", range(20))
def test_only_heartbeats_before_other_elements_are_dropped(seed: int) -> None:
    random = Random(seed)
    wanted = [random.choice((row, beat))(number) for number in range(200)]
    log = Log(wanted, pause=Random(seed + 1))
    found = list[Element]()
    for element in log.ahead():
        found.append(element)
        time.sleep(random.choice((0, 0, 0.001, 0.003)))
    assert found[-1] == wanted[-1]
    assert [one for one in found if isinstance(one, ReaderEvent)] == [
        one for one in wanted if isinstance(one, ReaderEvent)
    ]
    places = [wanted.index(one) for one in found]
    assert places == sorted(set(places))
    assert not threads()


def test_one_element_waits_and_another_one_is_made() -> None:
    log = Log([row(number) for number in range(100)])
    elements = log.ahead()
    for number in range(10):
        assert next(elements) == row(number)
        time.sleep(0.02)
        assert log.made <= number + 3
    elements.close()  # type: ignore[attr-defined]


def test_the_log_is_read_on_while_only_a_heartbeat_waits() -> None:
    log = Log([*(beat(number) for number in range(100)), row(100)])
    elements = log.ahead()
    found = [next(elements)]
    until = time.monotonic() + 10
    while log.made <= 100 and time.monotonic() < until:
        time.sleep(0.001)
    found += elements
    assert found[-1] == row(100)
    assert len(found) <= 2


def test_an_error_comes_after_the_elements_before_it() -> None:
    error = ValueError("the log is damaged")
    elements = Log([row(0), row(1)], error).ahead()
    time.sleep(0.02)
    assert [next(elements), next(elements)] == [row(0), row(1)]
    with pytest.raises(ValueError, match="damaged") as raised:
        next(elements)
    assert raised.value is error
    assert not threads()


def test_the_thread_that_makes_the_elements_closes_them() -> None:
    log = Log([row(number) for number in range(100)])
    elements = log.ahead()
    next(elements)
    elements.close()  # type: ignore[attr-defined]
    assert log.made < 10
    assert log.makers == {log.closed_by}
    assert log.closed_by != threading.get_ident()
    assert not threads()


def test_closing_ends_a_wait_for_the_server() -> None:
    log = Log([])
    elements = decode_ahead(log.wait(), log.interrupted.set)
    assert next(elements) == row(0)
    began = time.monotonic()
    elements.close()  # type: ignore[attr-defined]
    assert time.monotonic() - began < 5
    assert not threads()


def test_nothing_is_made_before_the_first_call() -> None:
    log = Log([row(0)])
    elements = log.ahead()
    time.sleep(0.01)
    assert log.made == 0
    assert [*elements] == [row(0)]
