"""A plugin that answers otherwise than the interface says is named with method and cause: never a bare trace."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from datetime import date
from typing import Any

import pytest
from seatunnel_example import (
    Countdown,
    CountdownEnumerator,
    CountdownFactory,
    CountdownOptions,
    Lines,
    LinesFactory,
    LinesOptions,
)

from seatunnel_py.api import (
    CommitContext,
    Committer,
    Enumerator,
    Guarantee,
    Piece,
    SinkCapabilities,
    Source,
    SourceTable,
    Split,
    StepContext,
    TableSchema,
)
from seatunnel_py.config.job_file import loads
from seatunnel_py.errors import PlanError, RetriableError
from seatunnel_py.plan import table_graph
from seatunnel_py.plan.plugins import plugin_calls
from seatunnel_py.plan.plugins.installed import installed
from seatunnel_py.plan.plugins.registry import BrokenPluginError, PluginEntry, PluginKind, Registry
from seatunnel_py.plan.steps import Job, understand
from seatunnel_py.runtime.targets.call_failure import as_failure
from seatunnel_py.work.unit import FailureKind


class Unwordable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


@dataclass(frozen=True)
class Odd(Countdown):
    answer: Any = None

    def tables(self) -> Sequence[SourceTable]:
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer  # type: ignore[no-any-return]


def planned(answer: Any, *, create: bool = False) -> None:
    """A job whose source gives this where it is asked for its tables, or where it is made."""

    class OddFactory(CountdownFactory):
        name = "Odd"

        def create(self, options: CountdownOptions, context: StepContext) -> Source:
            return answer if create else Odd(1, 1, answer)

    table_graph.build(job_of(OddFactory), None)


def job_of(factory: type[CountdownFactory]) -> Job:
    entry = PluginEntry(PluginKind.SOURCE, factory.name, "tests", factory=factory)
    text = f"source {{ {factory.name} {{ start = 1 }} }}\nsink {{ Console {{}} }}"
    return understand(loads(text), Registry((*installed().entries(), entry)))


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (None, "tables returns None where SourceTables belong"),
        (["t"], "tables returns a str instead of a SourceTable"),
        (AttributeError("no such thing"), "tables of the plugin Odd failed: AttributeError: no such thing"),
        (SystemExit(7), "tables of the plugin Odd failed: SystemExit: 7"),
        (Unwordable(), "tables of the plugin Odd failed: Unwordable: (its text fails with RuntimeError)"),
    ],
)
def test_a_mistake_at_plan_time_is_a_problem_of_its_step(answer: Any, said: str) -> None:
    """With all others, at its place in the job file, and with the trace for those who want it."""
    with pytest.raises(PlanError, match=r"\S") as raised:
        planned(answer)

    (problem,) = raised.value.problems
    assert said in problem.message
    assert problem.remedy and problem.line
    assert isinstance(raised.value.__cause__, BrokenPluginError)


def test_a_factory_that_makes_nothing_is_named() -> None:
    """The classic: a ``return`` that was forgotten."""
    with pytest.raises(PlanError, match="the plugin Odd is broken: create returns None instead of a Source"):
        planned(None, create=True)


def test_ctrl_c_is_nobodys_mistake() -> None:
    """It ends the command."""
    with pytest.raises(KeyboardInterrupt):
        planned(KeyboardInterrupt())


SPLIT = Split("s", Countdown(1, 1).tables()[0].schema.path)


class NamedFactory(CountdownFactory):
    name = "Named"


class Finds(CountdownEnumerator):
    def __init__(self, found: Any, state: Any = None) -> None:
        self.found, self.state = found, state

    def discover(self) -> Iterable[Split]:
        return self.found  # type: ignore[no-any-return]

    def snapshot(self) -> Any:
        return self.state


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (None, "discover returns None where Splits belong"),
        (["s"], "discover returns a str instead of a Split"),
        ([SPLIT, replace(SPLIT, payload={"part": 2})], "discover gives 2 splits the id 's', which has to name one"),
        (
            [replace(SPLIT, payload={"at": [date.min]})],
            "returns data that no checkpoint can hold: a date at ['at'][0]",
        ),
        ([replace(SPLIT, payload={"keys": "x" * 2**20})], "gives split 's' a payload of 1,048,588 bytes"),
    ],
)
def test_splits_that_would_lose_rows_are_refused(found: Any, said: str) -> None:
    """Two splits of one id were read as one, and the job called itself a success."""
    (step, _) = job_of(NamedFactory).steps
    enumerator: Enumerator = Finds(found)

    with pytest.raises(BrokenPluginError) as raised:
        plugin_calls.splits_of(step, enumerator.discover)

    assert said in raised.value.message


def test_a_state_that_no_checkpoint_can_hold_is_refused() -> None:
    """When it is first seen, not when it is missed."""
    (step, _) = job_of(NamedFactory).steps

    with pytest.raises(BrokenPluginError, match="snapshot returns data that no checkpoint can hold: a set"):
        plugin_calls.snapshot_of(step, Finds([], {"known"}))


class Combines(Committer):
    def __init__(self, made: Any) -> None:
        self.made = made

    def combine(self, pieces: Sequence[Piece]) -> Sequence[Piece]:
        return self.made(pieces)  # type: ignore[no-any-return]

    def commit(self, pieces: Sequence[Piece], context: CommitContext) -> None:
        raise NotImplementedError

    abort = commit


PIECES = (Piece(2, 20, {"file": "a"}), Piece(3, 30, {"file": "b"}))


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda pieces: pieces[:1], "combine returns pieces of 2 rows for those of 5"),
        (lambda _: None, "combine returns None where Pieces belong"),
        (lambda _: ["a"], "combine returns a str instead of a Piece"),
    ],
)
def test_a_committer_that_leaves_pieces_out_commits_nothing(made: Any, said: str) -> None:
    """Its rows would be lost by a job that calls itself a success."""
    (step, _) = job_of(NamedFactory).steps

    with pytest.raises(BrokenPluginError) as raised:
        plugin_calls.combined_by(step, Combines(made), PIECES)

    assert said in raised.value.message


def test_pieces_may_become_fewer_when_no_row_is_left_out() -> None:
    (step, _) = job_of(NamedFactory).steps
    one = Piece(5, 50, {"files": ["a", "b"]})

    assert plugin_calls.combined_by(step, Combines(lambda _: [one]), PIECES) == (one,)


@pytest.mark.parametrize("error", [RuntimeError("no"), KeyboardInterrupt("no"), SystemExit("no"), ValueError("no")])
def test_what_a_plugin_raises_while_its_job_runs_names_it(error: BaseException) -> None:
    """A receipt that said `RuntimeError: no` of a job with three plugins led nowhere."""
    (step, _) = job_of(NamedFactory).steps

    with pytest.raises(plugin_calls.PluginCallError) as raised, plugin_calls.attributed(step, "commit"):
        raise error

    failure = as_failure(raised.value)
    cause = f"commit of the plugin Named failed: {type(error).__name__}: no"
    assert re.fullmatch(rf"{cause} \(test_asked\.py:\d+\)", failure.message)
    assert (failure.kind, failure.step, failure.error_type) == (FailureKind.UNEXPECTED, step.id, type(error).__name__)
    assert "report it to its author; --debug shows the trace" in failure.remedy and "Traceback" in failure.trace


def test_what_a_plugin_says_of_the_outside_passes_as_it_is() -> None:
    """With its kind, which decides whether it is tried again."""
    (step, _) = job_of(NamedFactory).steps

    with pytest.raises(RetriableError, match="the target is away"), plugin_calls.attributed(step, "commit"):
        raise RetriableError("the target is away")
    with (
        pytest.raises(BrokenPluginError, match="Named needs the library 'no_such_client'"),
        plugin_calls.attributed(step, "setup"),
    ):
        import no_such_client  # type: ignore[import-not-found]  # noqa: F401


@pytest.mark.parametrize("found", [[], [SPLIT, SPLIT], [replace(SPLIT, id="t")], None])
def test_splits_that_were_renewed_are_the_same_splits(found: Any) -> None:
    """One that is missing would never be read to its end."""
    (step, _) = job_of(NamedFactory).steps
    enumerator = Finds([])
    enumerator.renew = lambda splits: found  # type: ignore[method-assign]

    with pytest.raises(BrokenPluginError, match="renew returns"):
        plugin_calls.renewed_by(step, enumerator, [SPLIT])
    assert plugin_calls.renewed_by(step, Finds([]), [SPLIT]) == (SPLIT,)


class TwoPhase(LinesFactory):
    """Promises more than its sink does."""

    name = "TwoPhase"

    def capabilities(self, options: LinesOptions, table: TableSchema, context: StepContext) -> SinkCapabilities:
        return SinkCapabilities(Guarantee.TWO_PHASE_COMMIT, "so it says")


def test_two_phases_without_a_committer_are_refused() -> None:
    """P2-11: it was believed, and `plan` said "exactly-once (two-phase commit): so it says"."""
    entry = PluginEntry(PluginKind.SINK, "TwoPhase", "tests", factory=TwoPhase)
    text = "source { FakeSource { schema { fields { id = int } } } }\nsink { TwoPhase { directory = x } }"
    job = understand(loads(text), Registry((*installed().entries(), entry)))
    (_, step) = job.steps

    with pytest.raises(
        BrokenPluginError, match="TwoPhase is broken: capabilities promises two-phase commit, but Lines"
    ):
        plugin_calls.sink_of(step, step.options, Countdown(1, 1).tables()[0].schema, job)


class NamesNoTarget(Lines):
    @property
    def target(self) -> str:
        raise KeyError("directory")


class WithoutTarget(LinesFactory):
    name = "WithoutTarget"

    def create(self, options: LinesOptions, table: TableSchema, context: StepContext) -> NamesNoTarget:
        made = super().create(options, table, context)
        return NamesNoTarget(**{one.name: getattr(made, one.name) for one in fields(Lines)})


def test_a_target_that_cannot_be_named_names_the_plugin() -> None:
    """The command ended with a bare KeyError."""
    entry = PluginEntry(PluginKind.SINK, "WithoutTarget", "tests", factory=WithoutTarget)
    text = "source { FakeSource { schema { fields { id = int } } } }\nsink { WithoutTarget { directory = x } }"
    job = understand(loads(text), Registry((*installed().entries(), entry)))
    with pytest.raises(PlanError, match="target of the plugin WithoutTarget failed: KeyError: 'directory' .test_asked"):
        table_graph.build(job, None)
