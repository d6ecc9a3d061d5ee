"""Streams of events for pages: what has changed, without asking for it.

Rules. (1) A message is a state, never a difference: a reader that is slow misses some, and still has the newest. So a
stream keeps at most one message for each of its topics, whatever time it takes. (2) One loop looks at the files for all
streams, once a second, and only at what a stream is about. (3) The id of a message counts in this server only; after a
restart a reader gets ``reset``, and then everything. (4) A stream ends with ``farewell`` when the server ends, and when
its token is not valid any more.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from starlette.concurrency import run_in_threadpool

from seatunnel_py.control.run_index import RunIndex, counts_by_state
from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.jobs.job_reading import Rates, plain, read
from seatunnel_py.web.answers import encoded
from seatunnel_py.web.problems import ApiError

EVERY_SECONDS = 1.0
CHECKED_SECONDS = 0.5
RETRY_MS = 2_000
TOPICS_MAX = 20
TABLES_MAX = 100
RUNS_SHOWN = 20
RUNS, RUN = "runs", "run:"
_log = logging.getLogger("seatunnel.server")


@dataclass(slots=True, eq=False)
class LiveStream:
    """One stream of a token, or of a session of it, empty: none. ``waiting``: the newest message of each topic that
    was not sent yet, with its number."""

    topics: frozenset[str]
    token: str
    valid: Callable[[], bool]
    session: str = ""
    waiting: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    woken: asyncio.Event = field(default_factory=asyncio.Event)
    ended: str = ""

    def end(self, why: str) -> None:
        """Let the stream send its farewell, and end."""
        self.ended = self.ended or why
        self.woken.set()


class LiveHub:
    """All streams of a server. ``stopping``: set when the server ends."""

    def __init__(self, index: RunIndex, stopping: asyncio.Event, ping_seconds: float) -> None:
        self._index, self._stopping, self._ping = index, stopping, ping_seconds
        self._boot = secrets.token_hex(4)
        self._number = 0
        self._newest: dict[str, tuple[int, bytes]] = {}
        self._streams: set[LiveStream] = set()
        self._rates: dict[str, Rates] = {}

    @property
    def count(self) -> int:
        """Number of open streams."""
        return len(self._streams)

    def count_of(self, token: str) -> int:
        """Number of open streams of a token."""
        return sum(stream.token == token for stream in self._streams)

    def end_session(self, session: str) -> None:
        """End the streams of a session; called by the loop."""
        for stream in self._streams:
            if stream.session == session:
                stream.end("the session has ended")

    async def run(self) -> None:
        """Look, and publish, until the server ends."""
        ending = asyncio.ensure_future(self._stopping.wait())
        checking = asyncio.ensure_future(self._check(ending))
        while not self._stopping.is_set():
            try:
                await self._turn()
            except Exception:  # noqa: BLE001 - one bad file must not end all streams
                _log.exception("the state of runs could not be read; it is tried again")
            await asyncio.wait({ending}, timeout=EVERY_SECONDS)
        await checking
        for stream in self._streams:
            stream.end("the server ends")

    async def _check(self, ending: asyncio.Future[Any]) -> None:
        """End the streams whose token or session has ended. Apart from the look at files, which may take long."""
        while not self._stopping.is_set():
            for stream in list(self._streams):
                try:
                    valid = await run_in_threadpool(stream.valid)
                except Exception:  # noqa: BLE001 - a stream that cannot be checked must not go on
                    _log.exception("the token of a stream could not be checked")
                    valid = False
                if not valid:
                    stream.end(f"the {'session' if stream.session else 'token'} is not valid any more")
            await asyncio.wait({ending}, timeout=CHECKED_SECONDS)

    async def _turn(self) -> None:
        topics = frozenset().union(*(stream.topics for stream in self._streams))
        found = await run_in_threadpool(self._look, topics)
        for topic, content in found.items():
            self._publish(topic, content)

    def _look(self, topics: frozenset[str]) -> dict[str, bytes]:
        found = {}
        for topic in topics:
            content = self._runs() if topic == RUNS else self._run(topic.removeprefix(RUN))
            found[topic] = encoded(content)
        for run in self._rates.keys() - {topic.removeprefix(RUN) for topic in topics}:
            del self._rates[run]
        return found

    def _runs(self) -> dict[str, Any]:
        rows = self._index.page(limit=RUNS_SHOWN).rows
        newest = [{"job_id": row.run, "state": row.state, "rows_read": row.rows_read} for row in rows]
        return {"states": counts_by_state(self._index.rows()), "change": self._index.changed_since(2**62)[0]} | {
            "newest": newest
        }

    def _run(self, run: str) -> dict[str, Any]:
        row, place = self._index.look(run), self._index.place(run)
        if row is None or place is None:
            return {"job_id": run, "state": "GONE"}
        about = {"job_id": run, "state": row.state, "exit_code": row.exit_code, "tables": row.tables}
        if not row.alive:
            return {**about, "rows_read": row.rows_read, "live": None}
        rates = self._rates.setdefault(run, Rates())
        try:
            reading = read(place)
            rates.add(reading)
            live = plain(reading, rates)
        except (SeaTunnelError, OSError, KeyError, TypeError, ValueError, AttributeError) as error:
            why = error.message if isinstance(error, SeaTunnelError) else "another version has written its counters"
            return {**about, "rows_read": row.rows_read, "live": None, "fault": why}
        live["tables"] = live["tables"][:TABLES_MAX]
        live.pop("at")
        return {**about, "rows_read": row.rows_read, "live": live}

    def _publish(self, topic: str, content: bytes) -> None:
        if self._newest.get(topic, (0, b""))[1] == content:
            return
        self._number += 1
        self._newest[topic] = message = (self._number, content)
        for stream in self._streams:
            if topic in stream.topics:
                stream.waiting[topic] = message
                stream.woken.set()
        watched = frozenset().union(*(stream.topics for stream in self._streams))
        for old in self._newest.keys() - watched:
            del self._newest[old]

    async def messages(self, stream: LiveStream, last_id: str) -> AsyncIterator[bytes]:
        """The text of a stream until it ends."""
        self._streams.add(stream)
        try:
            yield f"retry: {RETRY_MS}\n\n".encode()
            seen, reset = self._seen(last_id)
            if reset:
                yield _message("reset", {"why": "the server has restarted"})
            for topic in stream.topics:
                if topic in self._newest and self._newest[topic][0] > seen:
                    stream.waiting[topic] = self._newest[topic]
            while not stream.ended and not self._stopping.is_set():
                waiting, stream.waiting = stream.waiting, {}
                for topic, (number, content) in sorted(waiting.items(), key=lambda one: one[1][0]):
                    yield _text(topic, f"{self._boot}-{number}", content)
                if not await _woken(stream, self._ping):
                    yield b": ping\n\n"
            yield _message("farewell", {"why": stream.ended or "the server ends"})
        finally:
            self._streams.discard(stream)

    def _seen(self, last_id: str) -> tuple[int, bool]:
        """The number that a reader has seen, and whether it was another server that counted."""
        boot, _, number = last_id.partition("-")
        if boot == self._boot and number.isdecimal() and int(number) <= self._number:
            return int(number), False
        return 0, bool(last_id)


async def _woken(stream: LiveStream, seconds: float) -> bool:
    if stream.waiting or stream.ended:
        return True
    stream.woken.clear()
    try:
        async with asyncio.timeout(seconds):
            await stream.woken.wait()
    except TimeoutError:
        return False
    return True


def _message(name: str, content: dict[str, Any]) -> bytes:
    return _text(name, "", encoded(content))


def _text(name: str, id: str, content: bytes) -> bytes:
    numbered = f"id: {id}\n" if id else ""
    return f"event: {name}\n{numbered}data: ".encode() + content + b"\n\n"


def topics_of(given: str, known: Callable[[str], object]) -> frozenset[str]:
    """The topics in a list with commas. Raises ApiError for one that does not exist; ``known``: raises it for an
    unknown run."""
    found = frozenset(filter(None, (one.strip() for one in given.split(","))))
    if not found or len(found) > TOPICS_MAX:
        raise ApiError(422, "request", f"a stream has 1 to {TOPICS_MAX} topics", "topics=runs,run:ID")
    for topic in _sorted(found):
        if topic.startswith(RUN):
            known(topic.removeprefix(RUN))
        elif topic != RUNS:
            raise ApiError(422, "request", "there is no such topic", "valid: runs, run:ID")
    return found


def _sorted(topics: Iterable[str]) -> list[str]:
    return sorted(topics)
