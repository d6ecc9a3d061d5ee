"""What a correct machine may do, as literal tables: written from the rules, not from the code under test."""

from __future__ import annotations

from seatunnel_py.runtime.observe.receipt import TableState

PHASES = {
    ("WAITING", "ADMIT"): "PREPARING",
    ("WAITING", "END"): "CLOSING",
    ("PREPARING", "PREPARED"): "PREPARED",
    ("PREPARING", "END"): "CLOSING",
    ("PREPARED", "ENGINE_READY"): "STARTING",
    ("PREPARED", "END"): "CLOSING",
    ("STARTING", "BEGUN"): "RUNNING",
    ("STARTING", "END"): "CLOSING",
    ("RUNNING", "END"): "CLOSING",
    ("CLOSING", "GIVE_UP"): "DROPPING",
    ("CLOSING", "SWEEP"): "SWEEPING",
    ("DROPPING", "SWEEP"): "SWEEPING",
    ("SWEEPING", "SWEPT"): "CLOSED",
    ("SWEEPING", "CHECK"): "CHECKING",
    ("CHECKING", "OURS"): "REPLACED",
    ("CHECKING", "GIVE_UP"): "DROPPING",
    ("CHECKING", "SWEEP"): "SWEEPING",
}
"""Phase and event, and the phase that follows."""

_S = TableState
_ENDS = {_S.DONE, _S.FAILED, _S.ISOLATED, _S.STOPPED}
SHOWN = {
    _S.PENDING: {_S.RUNNING, _S.RETRYING, _S.COMMITTING, *_ENDS},
    _S.RUNNING: {_S.RETRYING, _S.COMMITTING, *_ENDS},
    _S.RETRYING: {_S.RUNNING, _S.COMMITTING, *_ENDS},
    _S.COMMITTING: {_S.RETRYING, *_ENDS},
    _S.DONE: set(),
    _S.FAILED: set(),
    _S.ISOLATED: set(),
    _S.STOPPED: set(),
}
"""States that people see, and those that may follow; one may always be shown again, with another failure."""

RARE = (
    "STARTING -> CLOSING",
    "PREPARED -> CLOSING",
    "CHECKING -> DROPPING",
    "CHECKING -> SWEEPING",
    "CHECKING -> REPLACED",
    "JournalLost",
    "journal is another driver's",
    "answer of the store is lost",
    "a table went back to its place",
    "a change was decided: approve",
    "a change was decided: reject",
    "a rule decided about a change",
)
"""Changes of phase, events, faults and situations that may happen in a long campaign only."""
