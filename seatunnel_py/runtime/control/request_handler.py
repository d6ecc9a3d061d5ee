"""The driver's side of requests: heard from the job's place, performed on the loop, answered once.

Rules. (1) Files are touched by a thread of its own: a target that hangs keeps nobody from being heard. (2) A savepoint
is answered when the record of every pipeline is durable and its rows are committed; a pipeline that has ended stands
where it ended. What a pipeline refuses for now it is asked again, until the request's time is up. Rows that a target
refuses for good would be in no savepoint: it is refused at once. (3) An end that was
asked of a run that is dead is refused: whoever started this one wants it to run. (4) A driver does not end before it
has answered. (5) Storages of other machines are looked at less often: that may cost money.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from seatunnel_py.errors import ExitCode, SeaTunnelError
from seatunnel_py.protocol.model.records import CheckpointRecord, RecordKind
from seatunnel_py.runtime.control.requests import ControlAnswer, ControlRequest, RequestKind, RequestStore
from seatunnel_py.runtime.diagnosis.live_counters import LiveCounters
from seatunnel_py.runtime.diagnosis.stall_detector import StallDetector
from seatunnel_py.runtime.diagnosis.standing import PipelineDiagnosis
from seatunnel_py.runtime.messages.events import SavepointRequest, StopWithdrawn
from seatunnel_py.runtime.observe.events import JobEvent, RequestAnswered
from seatunnel_py.runtime.observe.receipt import TableState
from seatunnel_py.runtime.storage.savepoint_store import SavepointSummary, committed_only, name_taken_error

if TYPE_CHECKING:
    from seatunnel_py.runtime.diagnosis.job_port import JobPort
    from seatunnel_py.runtime.pipeline.pipeline_machine import PipelineMachine

POLL_SECONDS = 0.5
FAR_EVERY = 4  # looks at the job's place to one at what it shares
NAMED_MAX = 5


class SavepointWriter(Protocol):
    """What puts savepoints where they outlive the job."""

    def kept(self, name: str) -> SavepointSummary | None:
        """The one of that name, if there is one."""

    def keep(
        self, name: str, request: str, records: Mapping[str, CheckpointRecord], absent: tuple[str, ...]
    ) -> SavepointSummary:
        """Write one of these records, without the pipelines that had not begun."""


@dataclass(slots=True)
class _OpenRequest:
    """A request that is being performed. ``found``: where pipelines stand, None where one had not begun; ``asked``:
    who has not answered yet; ``said``: why not; ``aside``: its files are looked at or written, and nothing is done."""

    request: ControlRequest
    until: float
    found: dict[str, CheckpointRecord | None] = field(default_factory=dict)
    asked: set[str] = field(default_factory=set)
    said: dict[str, str] = field(default_factory=dict)
    aside: bool = False
    told: str = ""


class RequestHandler:
    """``run`` names this run, as requests do. ``show`` shows people that this driver lives, ``count`` how far it has
    come."""

    def __init__(
        self,
        control: RequestStore,
        run: str,
        keeper: SavepointWriter,
        show: Callable[[], object] = lambda: None,
        count: Callable[[Mapping[str, Any]], None] = lambda counters: None,
    ) -> None:
        self._control = control
        self._show = show
        self._count = count
        self._counters: LiveCounters | None = None
        self._run = run
        self._keeper = keeper
        self._open: dict[str, _OpenRequest] = {}
        self._answered: set[str] = set()
        self._watch: StallDetector | None = None
        self._looks = 0
        self._unheard = ""
        self._files = ThreadPoolExecutor(1, thread_name_prefix="control")

    def begin(self, driver: JobPort, lives: Mapping[str, PipelineMachine]) -> None:
        """The driver runs from now on."""
        self._driver = driver
        self._lives = lives
        self._watch = StallDetector(driver, lives)
        self._counters = LiveCounters(self._run, lives)
        self._poll()

    @property
    def busy(self) -> bool:
        """Somebody waits for an answer."""
        return bool(self._open)

    def saw(self, event: JobEvent) -> None:
        """Something has happened in the job."""
        if self._watch is not None:
            self._watch.saw(event)
        if self._counters is not None:
            self._counters.saw(event)

    def close(self) -> None:
        """The driver ends: what is asked now is asked too late."""
        if self._watch is not None:
            self._watch.close()
        self._files.shutdown(wait=True)
        with suppress(OSError, SeaTunnelError):  # whoever waits sees that no driver lives
            for request in self._control.open():
                self._control.answer(ControlAnswer(request.id, False, "the job has ended"))

    # ---------------------------------------------------------------- what is heard

    def _poll(self) -> None:
        if self._watch is not None:
            self._watch.look()
        counters = self._counters.due(self._driver.now()) if self._counters is not None else None
        if counters is not None:
            self._aside(partial(self._count, counters), lambda _: None)
        self._looks += 1
        everywhere = self._looks % FAR_EVERY == 1
        self._aside(partial(self._look_in, everywhere=everywhere), partial(self._asked, everywhere=everywhere))
        self._driver.after(("control",), POLL_SECONDS, self._poll)

    def _look_in(self, *, everywhere: bool) -> tuple[ControlRequest, ...]:
        self._show()
        return self._control.open(others=everywhere)

    def _asked(self, requests: tuple[ControlRequest, ...], *, everywhere: bool) -> None:
        if everywhere:  # an answer that is written is not asked for again
            self._unheard = ""
            self._answered &= {request.id for request in requests} | self._open.keys()
        for request in requests:
            if request.id not in self._open and request.id not in self._answered:
                self._begin(request)
        self.look()

    def _begin(self, request: ControlRequest) -> None:
        if request.wish is RequestKind.LIVES:
            self._answered.add(request.id)  # no event: nothing happens by it
            ours = request.run in ("", self._run)
            text = "it works" if ours else "another driver has the job now"
            self._aside(partial(self._control.answer, ControlAnswer(request.id, ours, text)), lambda _: None)
            return
        if request.wish is RequestKind.EXPLAIN and self._watch is not None:
            self._answered.add(request.id)
            self._watch.explain(partial(self._explained, request.id))
            return
        if request.wish is not RequestKind.SAVEPOINT and request.run != self._run:
            text = "the driver that was to end is dead, and the job has been gone on with"
            self._answer(ControlAnswer(request.id, False, text, "ask again, if this run shall end, too"))
            return
        lives = [life for life in self._lives.values() if _concerned(life, request.tables)]
        if wrong := _not_to_be_had(lives, request):
            self._answer(wrong)
            return
        one = self._open[request.id] = _OpenRequest(request, self._driver.now() + request.seconds)
        if request.wish is RequestKind.CANCEL:
            self._driver.cancel_all(lives, f"it was cancelled (request {request.id})", whole=not request.tables)
            return
        one.aside = True  # nothing ends for a savepoint that cannot be kept under its name
        self._aside(
            partial(self._keeper.kept, request.name), partial(self._looked_up, one), partial(self._not_kept, one)
        )

    def _looked_up(self, one: _OpenRequest, found: SavepointSummary | None) -> None:
        """Whether there is a savepoint of that name. A driver may have died between keeping it and saying so."""
        if found is not None and found.request == one.request.id:
            self._kept(one, found)
        elif found is not None:
            self._not_kept(one, name_taken_error(one.request.name, found.place))
        else:
            one.aside = False
            if one.request.wish is RequestKind.STOP and not any(map(_refused_commit, self._lives.values())):
                self._driver.stop_waiting(ExitCode.TERMINATED)
            self.look()

    def refused(self, pipeline: str, name: str, reason: str) -> None:
        """A pipeline refuses for now the savepoint of this name."""
        for one in self._open.values():
            if name == one.request.name:
                one.asked.discard(pipeline)
                one.said[pipeline] = reason

    def completed(self, pipeline: str, record: CheckpointRecord) -> None:
        """A record of a pipeline is durable: it may be the answer to a request."""
        for one in self._open.values():
            if record.kind is RecordKind.SAVEPOINT and record.name == one.request.name:
                one.found[pipeline] = record

    def restarted(self, pipeline: str) -> None:
        """Another life of a pipeline takes the place of one that answers nothing any more: it is asked instead."""
        for one in self._open.values():
            one.asked.discard(pipeline)

    # ---------------------------------------------------------------- what follows

    def look(self) -> None:
        """Something may have become true."""
        for one in list(self._open.values()):
            if one.aside or one.request.id in self._answered:
                continue
            waiting = self._cancelled(one) if one.request.wish is RequestKind.CANCEL else self._saved(one)
            if waiting and self._driver.now() > one.until:
                text = f"not within {one.request.seconds:.0f} s: {_named(waiting)}"
                self._give_up(one, text, "ask again with a longer --timeout", waiting)
            elif waiting:
                self._tell(one, waiting)

    def _cancelled(self, one: _OpenRequest) -> dict[str, str]:
        """Who has not ended yet, and why; answered where nobody is left."""
        lives = [life for life in self._lives.values() if _concerned(life, one.request.tables)]
        waiting = {life.pipeline.name: "it is ending" for life in lives if life.key not in self._driver.closed}
        if not waiting:
            ends = {life.pipeline.name: life.shown_state.value for life in lives}
            stopped = sum(state == TableState.STOPPED for state in ends.values())
            self._answer(ControlAnswer(one.request.id, True, _cancelled_text(stopped, len(ends)), about=ends))
        return waiting

    def _saved(self, one: _OpenRequest) -> dict[str, str]:
        """Whose checkpoint is missing, and why; the savepoint is kept where nobody's is."""
        waiting: dict[str, str] = {}
        if refused := {life.pipeline.name: why for life in self._lives.values() if (why := _refused_commit(life))}:
            text = f"a savepoint would lose rows: {_named(refused)}"
            remedy = "cancel the job, mend the target and go on with --restore latest; then ask again"
            self._give_up(one, text, remedy, refused)
            return {}
        for key, life in self._lives.items():
            if key not in one.found:
                self._ask(one, key, life)
            if why := self._lacks(one, key, life):
                waiting[life.pipeline.name] = why
        if not waiting:
            one.aside = True
            records = {key: committed_only(record) for key, record in one.found.items() if record is not None}
            absent = tuple(key for key, record in one.found.items() if record is None)
            keep = partial(self._keeper.keep, one.request.name, one.request.id, records, absent)
            self._aside(keep, partial(self._kept, one), partial(self._not_kept, one))
        return waiting

    def _ask(self, one: _OpenRequest, key: str, life: PipelineMachine) -> None:
        if key in self._driver.closed or life.state.shown.started_at is None:
            record = self._driver.newest(key)
            one.found[key] = None if record is None or record.kind is RecordKind.ZERO else record
        elif life.view is not None and key not in one.asked:
            one.asked.add(key)
            self._driver.turn(life, SavepointRequest(one.request.name, one.request.wish is RequestKind.STOP))

    def _lacks(self, one: _OpenRequest, key: str, life: PipelineMachine) -> str:
        """Why the savepoint cannot hold this pipeline yet, or nothing."""
        if key not in one.found:
            return one.said.get(key, "its checkpoint is under way")
        record = one.found[key]
        unconfirmed = self._driver.unconfirmed(key)
        if record is not None and any(checkpoint <= record.checkpoint for checkpoint in unconfirmed):
            return "its rows are not committed yet"
        return "it is ending" if one.request.wish is RequestKind.STOP and key not in self._driver.closed else ""

    def _kept(self, one: _OpenRequest, kept: SavepointSummary) -> None:
        name, begun = one.request.name, len(kept.checkpoints)
        about = {"savepoint": name, "path": kept.place, "checkpoints": kept.checkpoints, "absent": kept.absent}
        text = f"savepoint {name}: {begun} of {_tables(begun + len(kept.absent))} had begun"
        self._answer(ControlAnswer(one.request.id, True, text if kept.absent else f"savepoint {name}", about=about))

    def _not_kept(self, one: _OpenRequest, error: BaseException) -> None:
        if not isinstance(error, SeaTunnelError):
            raise error
        self._answer(ControlAnswer(one.request.id, False, error.message, error.remedy))

    def _give_up(self, one: _OpenRequest, text: str, remedy: str, about: Mapping[str, str]) -> None:
        for life in self._lives.values():
            if one.request.wish is RequestKind.STOP:
                self._driver.turn(life, StopWithdrawn())
        self._answer(ControlAnswer(one.request.id, False, text, remedy, dict(about)))

    # ---------------------------------------------------------------- answers

    def _explained(self, request: str, found: Sequence[PipelineDiagnosis]) -> None:
        """What everything is at."""
        answer = ControlAnswer(request, True, _tables(len(found)), about={"tables": [one.to_plain() for one in found]})
        self._aside(partial(self._control.answer, answer), lambda _: None)

    def _tell(self, one: _OpenRequest, waiting: Mapping[str, str]) -> None:
        text = f"waiting for {_tables(len(waiting))}: {_named(waiting)}"
        if text != one.told:
            one.told = text
            self._aside(partial(self._control.tell, one.request.id, text), lambda _: None)

    def _answer(self, answer: ControlAnswer) -> None:
        self._answered.add(answer.request)
        wish = self._open[answer.request].request.wish.value if answer.request in self._open else "request"
        self._driver.tell(RequestAnswered(answer.request, wish, answer.done, answer.text, self._driver.now()))
        self._aside(partial(self._control.answer, answer), partial(self._is_answered, answer.request))

    def _is_answered(self, request: str, _: bool) -> None:
        self._open.pop(request, None)

    def _aside(
        self,
        task: Callable[[], Any],
        then: Callable[[Any], None],
        failed: Callable[[BaseException], None] | None = None,
    ) -> None:
        def work() -> None:
            try:
                value = task()
            except Exception as error:  # noqa: BLE001 - told below: nobody's rows wait for it
                self._driver.post(partial(failed or self._failed, error))
            else:
                self._driver.post(partial(then, value))

        self._files.submit(work)

    def _failed(self, error: BaseException) -> None:
        """The job's place cannot be read or written: whoever waits is told by nobody, so people are told here."""
        self._open = {name: one for name, one in self._open.items() if name not in self._answered}
        text = f"cannot be heard: {error}"
        if text != self._unheard:  # a store that is away for a night is told once
            self._unheard = text
            self._driver.tell(RequestAnswered("", "request", False, text, self._driver.now()))


def _tables(number: int) -> str:
    return f"{number} table{'s' * (number != 1)}"


def _cancelled_text(stopped: int, asked: int) -> str:
    """What was still at work, and what had ended before."""
    done = f"; {_tables(asked - stopped)} had ended before" if asked > stopped else ""
    return f"cancelled: {_tables(stopped)} stopped{done}"


def _concerned(life: PipelineMachine, tables: tuple[str, ...]) -> bool:
    return not tables or any(str(path) in tables for path in life.pipeline.tables)


def _not_to_be_had(lives: list[PipelineMachine], request: ControlRequest) -> ControlAnswer | None:
    """Why a request cannot be meant as it is."""
    known = {str(path) for life in lives for path in life.pipeline.tables}
    if unknown := [table for table in request.tables if table not in known]:
        remedy = "`seatunnel jobs show` names the tables"
        return ControlAnswer(request.id, False, f"the job has no table {', '.join(unknown)}", remedy)
    if request.tables and (others := sorted(known.difference(request.tables))):
        text = f"{', '.join(request.tables)} ends together with {', '.join(others[:NAMED_MAX])}"
        return ControlAnswer(request.id, False, text, "name them, too: they share a pipeline")
    return None


def _refused_commit(life: PipelineMachine) -> str:
    """Which of its commits a target has refused for good, or nothing."""
    if life.view is None:
        return ""
    commits = life.view.commits
    refused = [one.checkpoint for one in commits.waiting if one.scope in commits.refused]
    return f"its target has refused the commit of checkpoint {refused[0]}" if refused else ""


def _named(waiting: Mapping[str, str]) -> str:
    names = [f"{name}: {why}" for name, why in list(waiting.items())[:NAMED_MAX]]
    return "; ".join(names) + (f"; and {len(waiting) - NAMED_MAX} more" if len(waiting) > NAMED_MAX else "")
