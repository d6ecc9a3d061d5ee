"""Converts the error of a call to a plugin to a failure with its kind, cause and remedy."""

from __future__ import annotations

import traceback

from seatunnel_py.errors import FatalError, RetriableError, SeaTunnelError, worded
from seatunnel_py.plan.plugins import plugin_calls
from seatunnel_py.runtime.targets.commit_verdict import error_type
from seatunnel_py.work.failing_code import SHOWS_TRACE
from seatunnel_py.work.unit import FailureKind, UnitFailure


def as_failure(error: BaseException, step: str = "") -> UnitFailure:
    """Convert any exception to a typed failure."""
    trace = "".join(traceback.format_exception(error))
    if isinstance(error, plugin_calls.PluginCallError):
        kind, cause = FailureKind.UNEXPECTED, type(error.__cause__).__name__
        return UnitFailure(kind, error.message, error.remedy, step or error.step, cause, trace)
    kind = FailureKind.UNEXPECTED
    if isinstance(error, RetriableError):
        kind = FailureKind.RETRIABLE
    elif isinstance(error, (FatalError, SeaTunnelError)):
        kind = FailureKind.FATAL
    message = error.message if isinstance(error, SeaTunnelError) else worded(error)
    remedy = error.remedy if isinstance(error, SeaTunnelError) else SHOWS_TRACE
    return UnitFailure(kind, message, remedy, step, error_type(error), trace)
