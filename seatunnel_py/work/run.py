"""Runs a unit: ``head -> transforms -> sinks``, batch by batch, in one process.

Guarantees:

- A failure of the chain is a result, never an exception: the driver decides, the pack's other units go on.
- A unit leaves nothing open, and aborts failed writers.
- Rows pass in their native form if possible (``native_copy``), else through Arrow (``flow``). If some are bad and the
  job allows that, they are found and quarantined (``isolate``), or come back for another attempt (``retry_loop``).
"""

from __future__ import annotations

import time
import traceback

from seatunnel_py.api.native import NativeRefusedError
from seatunnel_py.errors import BadRowsError, FatalError, GenerationLostError, RetriableError, SeaTunnelError
from seatunnel_py.work import failpoints
from seatunnel_py.work.chain import Chain
from seatunnel_py.work.failing_code import SHOWS_TRACE, described
from seatunnel_py.work.reader_cache import ReaderCache
from seatunnel_py.work.rows.flow import Flow
from seatunnel_py.work.rows.native_copy import NativeCopy, passage_of
from seatunnel_py.work.unit import FailureKind, Unit, UnitFailure, UnitResult

TRACE_CHARACTERS_MAX = 20_000  # a traceback travels in results and journals
HOW_TO_ALLOW = "or let the job quarantine such rows: env.error.max-rows"


def run_unit(unit: Unit, chain: Chain, residence: ReaderCache | None = None) -> UnitResult:
    """Run one unit to its end or its budget. With a ``residence`` it may reuse the reader of the previous unit, and
    keep it for the next.

    A failed result still names the pieces that were staged before the failure: they hold nothing that counts, and the
    driver's committer deletes them.
    """
    began = time.perf_counter()
    run = _UnitRun(unit, chain, residence)
    try:
        failpoints.BEGAN.hit()
        run.run()
    except BaseException as error:  # noqa: BLE001 - whatever a plugin raises is this unit's result
        # KeyboardInterrupt too: no user's Ctrl-C reaches threads or workers, whose daemon leads its own process group
        failure = _failure(error, run.flow.step, chain)
        run.flow.abort()
        seconds = time.perf_counter() - began
        return UnitResult(unit.id, done=False, seconds=seconds, pieces=tuple(run.flow.pieces), failure=failure)
    flow = run.flow
    return UnitResult(
        id=unit.id,
        done=flow.exhausted,
        next=None if flow.exhausted else flow.position,
        rows=flow.rows,
        bytes=flow.bytes,
        seconds=time.perf_counter() - began,
        first_row_at=flow.first_row_at,
        pieces=tuple(flow.pieces),
        slices=flow.slices,
        counts=tuple(flow.counts()),
        events=tuple(flow.reports.events),
        altered=tuple(one.to_plain() for one in flow.reports.altered),
    )


class _UnitRun:
    """The paths that the rows of a unit can take, tried in order. ``flow`` is the current one."""

    def __init__(self, unit: Unit, chain: Chain, residence: ReaderCache | None) -> None:
        self.unit = unit
        self.chain = chain
        self.residence = residence
        self.flow: Flow | NativeCopy = Flow(unit, chain)

    def run(self) -> None:
        if self.chain.retry is not None:
            from seatunnel_py.work.rows.retry_loop import RetryLoop

            self.flow = RetryLoop(self.unit, self.chain, self.chain.retry)
            self.flow.run()
            return
        if self.chain.errors is None:
            self._fast_path()
            return
        from seatunnel_py.work.bad_rows.isolate import VALUE_ERRORS, decided

        if decided(self.unit, self.chain, self.chain.errors):
            self._isolating()
            return
        try:
            self._fast_path()
        except VALUE_ERRORS:
            if self.flow.pieces:
                raise  # a sink holds all of these rows already
            self.flow.abort()
            self._isolating()

    def _fast_path(self) -> None:
        again = self.residence is None
        while again and (passage := passage_of(self.unit, self.chain)) is not None:
            self.flow = passage
            try:
                passage.run()
            except NativeRefusedError as refused:
                passage.abort()
                again = refused.again
            else:
                return
        self.flow = Flow(self.unit, self.chain, self.residence)
        self.flow.run()

    def _isolating(self) -> None:
        from seatunnel_py.work.bad_rows.isolate import BadRowIsolation

        assert self.chain.errors is not None
        careful = BadRowIsolation(self.unit, self.chain, self.chain.errors)
        try:
            careful.run()
        finally:
            self.flow = careful.flow


def _failure(error: BaseException, step: str, chain: Chain) -> UnitFailure:
    match error:
        case RetriableError():
            kind = FailureKind.RETRIABLE
        case FatalError() | GenerationLostError():
            kind = FailureKind.FATAL
        case _:
            kind = FailureKind.UNEXPECTED
    if isinstance(error, SeaTunnelError):
        message, remedy = error.message, error.remedy
    else:
        message, remedy = described(error, chain.plugins.get(step, "")), SHOWS_TRACE
    if isinstance(error, BadRowsError) and chain.errors is None:
        remedy = f"{remedy}, {HOW_TO_ALLOW}" if remedy else HOW_TO_ALLOW.removeprefix("or ")
    return UnitFailure(
        kind=kind,
        message=message,
        remedy=remedy,
        step=step,
        error_type=f"{type(error).__module__}.{type(error).__qualname__}",
        trace="".join(traceback.format_exception(error))[-TRACE_CHARACTERS_MAX:],
    )
