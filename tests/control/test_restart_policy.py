"""When a run is restored, how long it waits, and in which order runs begin: pure decisions."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatunnel_py.control.backoff import FIRST_SECONDS, HEALTHY_SECONDS, JITTER, SECONDS_MAX, backoff_seconds
from seatunnel_py.control.intent_progress import START_SECONDS, ProgressKind, StartEvidence, progress
from seatunnel_py.control.launching import ProcessEnd, command_of, environment_of
from seatunnel_py.control.restart_policy import SAME_CAUSE_MAX, EndKind, RunEnd, decide, end_kind, released
from seatunnel_py.control.run_row import RunRow
from seatunnel_py.control.start_order import StartFacts, StartLimits, order
from seatunnel_py.control.store.intents import Intent, IntentState, StartKind, StartOptions
from seatunnel_py.control.store.queue import QueueEntry
from seatunnel_py.control.store.wishes import RestartPolicy, Wish

NEVER, ON_FAILURE, ALWAYS = RestartPolicy
WISH = Wish("shop", ON_FAILURE, "r")


@pytest.mark.parametrize(
    ("exit_code", "boot", "kind", "policies"),
    [
        (0, False, EndKind.DONE, ()),
        (1, False, EndKind.FAILED, (ON_FAILURE, ALWAYS)),
        (2, False, EndKind.FILE_WRONG, ()),
        (3, False, EndKind.SOME_TABLES, (ALWAYS,)),
        (130, False, EndKind.STOPPED, ()),
        (143, False, EndKind.STOPPED, ()),
        (143, True, EndKind.STOPPED_AT_BOOT, (ALWAYS,)),
        (None, False, EndKind.KILLED, (ON_FAILURE, ALWAYS)),
        (None, True, EndKind.BOOT, (ON_FAILURE, ALWAYS)),
        (0, True, EndKind.DONE, ()),
        (2, True, EndKind.FILE_WRONG, ()),
        (77, False, EndKind.FAILED, (ON_FAILURE, ALWAYS)),
    ],
)
def test_only_some_ends_are_followed_by_a_restore(
    exit_code: int | None, boot: bool, kind: EndKind, policies: tuple[RestartPolicy, ...]
) -> None:
    assert end_kind(exit_code, boot_differs=boot) is kind
    restored = {one for one in RestartPolicy if decide(replace(WISH, policy=one), RunEnd(kind)).restore}
    assert restored == set(policies)


@given(st.integers(0, 10_000), st.floats(0, 1))
def test_a_wait_grows_to_its_limit_and_is_spread(failures: int, random: float) -> None:
    seconds = backoff_seconds(failures, random)
    assert FIRST_SECONDS * (1 - JITTER) <= seconds <= SECONDS_MAX * (1 + JITTER)
    assert backoff_seconds(failures + 1, random) >= seconds


ENDS = st.builds(
    RunEnd,
    st.sampled_from(EndKind),
    st.sampled_from([0.0, HEALTHY_SECONDS - 1, HEALTHY_SECONDS]),
    st.sampled_from(["", "a", "b"]),
    st.sampled_from(["", "1", "2"]),
)


@given(st.sampled_from(RestartPolicy), st.lists(ENDS, max_size=20))
def test_a_run_is_held_exactly_after_the_same_cause_at_the_same_position(
    policy: RestartPolicy, ends: list[RunEnd]
) -> None:
    """And a held one stays held, whatever comes."""
    wish, alike = Wish("shop", policy, "r"), []  # type: ignore[var-annotated]
    for end in ends:
        before, decision = wish, decide(wish, end)
        wish = decision.wish
        if before.held:
            assert not decision.restore and wish == before
            continue
        counts = decision.restore or bool(wish.held)
        if counts and end.kind in (EndKind.BOOT, EndKind.STOPPED_AT_BOOT):
            alike = []
        elif counts:
            key = (end.cause or str(end.kind), end.position)
            alike = [*alike, key] if alike[-1:] == [key] and end.alive_seconds < HEALTHY_SECONDS else [key]
        assert bool(wish.held) == (len(alike) >= SAME_CAUSE_MAX)
        assert not (decision.restore and wish.held)
    assert released(wish) == Wish("shop", policy, "r")


def test_a_run_that_is_not_wished_is_left() -> None:
    """A person has stopped it."""
    assert not decide(replace(WISH, run=None), RunEnd(EndKind.KILLED)).restore


def intent(number: int = 1, kind: StartKind = StartKind.NEW, **more: object) -> Intent:
    state = IntentState.WAITING
    made = Intent(number, f"r{number}", "shop", 1, kind, state, StartOptions(), "", "", "t", 0.0)
    return replace(made, **more)  # type: ignore[arg-type]


OLD, NEW = RunRow("r1", "KILLED", driver="old", outcome="killed"), RunRow("r1", "RUNNING", driver="new")
DIED = ProcessEnd("r1", 7, None, 9)
STARTING, STARTED = IntentState.STARTING, IntentState.STARTED
TABLE = {
    "no place, its child at work": (STARTING, None, True, None, 500.0, ProgressKind.WAIT, None),
    "no place, no child, in time": (STARTING, None, False, None, START_SECONDS - 1, ProgressKind.WAIT, None),
    "no place, no child, too late": (STARTING, None, False, None, START_SECONDS, ProgressKind.NOT_STARTED, None),
    "no place, the child has ended": (STARTING, None, False, ProcessEnd("r1", 7, 2, None), 1.0, ProgressKind.ENDED, 2),
    "the driver before, too late": (STARTING, OLD, False, None, START_SECONDS, ProgressKind.NOT_STARTED, None),
    "locked, job.json is next": (STARTING, RunRow("r1", "RUNNING", driver="old"), False, DIED, 99.0, ProgressKind.WAIT, None),
    "a new driver": (STARTING, NEW, False, None, 500.0, ProgressKind.STARTED, None),
    "unreadable": (STARTED, RunRow("r1", "UNREADABLE"), False, DIED, 500.0, ProgressKind.WAIT, None),
    "at work": (STARTED, NEW, False, DIED, 500.0, ProgressKind.WAIT, None),
    "receipt and exit code differ": (
        STARTED, RunRow("r1", "SUCCESS", outcome="done", exit_code=0, driver="new"), False, DIED, 0.0, ProgressKind.ENDED, 0,
    ),
    "no receipt, the child was killed": (STARTED, OLD, False, DIED, 0.0, ProgressKind.ENDED, None),
    "no receipt, not a child": (STARTED, OLD, False, None, 0.0, ProgressKind.ENDED, None),
    "it gave up": (STARTED, replace(OLD, failed="no Java", outcome="failed"), False, None, 0.0, ProgressKind.ENDED, 1),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLE)
def test_what_has_become_of_a_start(name: str) -> None:
    state, row, child, end, waited, kind, exit_code = TABLE[name]
    step = progress(intent(state=state, previous_driver="old"), StartEvidence(row, child, end, waited))
    assert (step.kind, step.exit_code) == (kind, exit_code)


ENTRIES = st.lists(st.integers(0, 30), unique=True, max_size=8).map(
    lambda numbers: [QueueEntry(intent(number), 0, 0.0) for number in numbers]
)
FACTS = st.builds(
    StartFacts,
    st.integers(0, 3),
    st.frozensets(st.integers(0, 30).map(lambda number: f"r{number}")),
    st.sampled_from([0.5, 1.0, 9.0]),
    st.dictionaries(st.integers(0, 30).map(lambda number: f"r{number}"), st.floats(-5, 5)),
    st.sampled_from(["", "room on the disk"]),
)


@given(ENTRIES, FACTS)
def test_a_queue_begins_the_first_that_can_and_names_a_reason_for_each_other(
    entries: list[QueueEntry], facts: StartFacts
) -> None:
    """O20."""
    found = order(entries, facts, StartLimits(max_running=2))
    waiting = [one.entry for one in found.waiting]
    assert [one for one in entries if one is not found.next] == waiting
    assert all(one.why for one in found.waiting)
    can = [one for one in entries if one.intent.run not in facts.busy and facts.delays.get(one.intent.run, 0.0) <= 0]
    free = facts.running < 2 and facts.since_spawn >= 1.0 and not facts.closed
    assert found.next is (can[0] if can and free else None)


def test_a_restore_leaves_a_live_driver_alone(tmp_path) -> None:  # type: ignore[no-untyped-def]
    """`run --restore latest` would take the run over from one that was started by hand."""
    options = StartOptions({"day": "2026-01-31", "list": "a,b"}, only=("shop.orders",))
    file = tmp_path / "job.conf"
    new = command_of(intent(options=options), ("seatunnel",), file)
    assert new == ("seatunnel", "run", str(file), "--job-id", "r1", "-i", "day=2026-01-31", "-i", 'list="a,b"',
                   "--only", "shop.orders")  # fmt: skip
    again = command_of(intent(kind=StartKind.RESTORE), ("seatunnel",), file)
    assert again == ("seatunnel", "jobs", "restore", "r1", "--file", str(file))


def test_a_driver_gets_only_what_is_allowed_and_named(tmp_path) -> None:  # type: ignore[no-untyped-def]
    own = {"PATH": "/bin", "LC_ALL": "C", "AWS_SECRET": "x", "DB": "y", "SEATUNNEL_HOME": "/elsewhere"}
    assert environment_of(own, ["DB"], tmp_path) == {
        "PATH": "/bin", "LC_ALL": "C", "DB": "y", "SEATUNNEL_HOME": str(tmp_path),
    }  # fmt: skip
