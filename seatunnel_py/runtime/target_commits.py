"""Commits of all pipelines on their way to the targets: what a target takes together goes to it together.

Rules. (1) What has come by the end of the loop's turn goes in one exchange; what comes while that is under way goes in
the next. (2) Where a target is away, all in the exchange have failed: nobody waits for as many time-outs as there are
tables. (3) Where something else is wrong each is committed alone, so that it meets only those whom it concerns.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from seatunnel_py.api.sink import CommitContext, Setup, SinkCommit
from seatunnel_py.plan.flows import SinkNode
from seatunnel_py.protocol.items import StagedPiece
from seatunnel_py.runtime import crash_points, quarantine
from seatunnel_py.runtime.chains import JobIdentity
from seatunnel_py.runtime.effects import context_of, piece_of
from seatunnel_py.work.unit import QUARANTINE, FailureKind, UnitFailure

TOGETHER_MAX = 500  # tables in one exchange: beyond that the message itself becomes what is waited for


@dataclass(frozen=True, slots=True)
class ScopeCommit:
    """One checkpoint of one commit scope; each group of sinks shares a committer."""

    groups: Sequence[Sequence[SinkNode]]
    pieces: tuple[StagedPiece, ...]
    setups: Mapping[str, Setup]
    job: JobIdentity
    checkpoint: int
    final: bool

    def alone(self) -> None:
        """Finish the scope; each committer gets the pieces of all its tables."""
        for group in self.groups:
            part = self._part(group)
            crash_points.BEFORE_COMMIT.hit()
            part.committer.commit(part.pieces, part.context)
            crash_points.COMMITTED.hit()
        bad = [piece_of(piece) for piece in self.pieces if _is_bad(piece)]
        quarantine.commit(bad, self.job, self.checkpoint)

    def key(self) -> Hashable:
        """What it has in common with those that may go with it; None: it goes alone, as what has several targets, or
        bad rows, does."""
        if len(self.groups) != 1 or any(map(_is_bad, self.pieces)):
            return None
        node = self.groups[0][0]
        return node.sink.committer().commits_with(self._context(node))

    def part(self) -> SinkCommit:
        """What goes with others."""
        return self._part(self.groups[0])

    def _part(self, group: Sequence[SinkNode]) -> SinkCommit:
        node = group[0]
        tables = {(member.step.id, member.table.path) for member in group}
        own = [piece.piece for piece in map(piece_of, self.pieces) if (piece.step, piece.table) in tables]
        committer = node.sink.committer()
        return SinkCommit(committer, committer.combine(own), self._context(node))

    def _context(self, node: SinkNode) -> CommitContext:
        return context_of(node, self.setups[node.id].data, self.job, self.checkpoint, final=self.final)


def _is_bad(piece: StagedPiece) -> bool:
    """Whether it holds bad rows; asked on the loop, so nothing is decoded for it."""
    plain: Any = piece.data
    return bool(plain["step"] == QUARANTINE)


Then = Callable[[Any], None]
Failed = Callable[[UnitFailure], None]


@dataclass(frozen=True, slots=True)
class _Asked:
    commit: ScopeCommit
    then: Then
    failed: Failed


class TargetCommits:
    """``aside`` runs something on another thread, ``post`` calls at the end of the loop's turn."""

    def __init__(
        self,
        aside: Callable[[Callable[[], Any], Then, Failed], None],
        post: Callable[[Callable[[], None]], None],
    ) -> None:
        self._aside = aside
        self._post = post
        self._waiting: dict[Hashable, list[_Asked]] = {}
        self._under_way: set[Hashable] = set()

    def commit(self, commit: ScopeCommit, then: Then, failed: Failed) -> None:
        """Ask the target, and hear its answer on the loop."""
        asked = _Asked(commit, then, failed)
        try:
            key = commit.key()
        except Exception:  # noqa: BLE001 - a plugin's own code runs here: alone it fails where that meets its table only
            key = None
        if key is None:
            self._alone(asked)
            return
        waiting = self._waiting.setdefault(key, [])
        waiting.append(asked)
        if len(waiting) == 1 and key not in self._under_way:
            self._post(partial(self._go, key))

    def _alone(self, asked: _Asked) -> None:
        self._aside(asked.commit.alone, asked.then, asked.failed)

    def _go(self, key: Hashable) -> None:
        asked = self._waiting.pop(key, [])
        if len(asked) > TOGETHER_MAX:
            self._waiting[key] = asked[TOGETHER_MAX:]
        going = asked[:TOGETHER_MAX]
        if len(going) == 1:
            self._alone(going[0])
        elif going:
            self._under_way.add(key)
            commits = [one.commit for one in going]
            answer = partial(self._answered, key, going)
            self._aside(partial(_together, commits), lambda _: answer(None), answer)

    def _answered(self, key: Hashable, asked: Sequence[_Asked], failure: UnitFailure | None) -> None:
        self._under_way.discard(key)
        for one in asked:
            if failure is None:
                one.then(None)
            elif failure.kind is FailureKind.RETRIABLE:
                one.failed(failure)
            else:
                self._alone(one)
        self._go(key)


def _together(commits: Sequence[ScopeCommit]) -> None:
    parts = [commit.part() for commit in commits]
    crash_points.BEFORE_COMMIT.hit()
    parts[0].committer.commit_together(parts)
    crash_points.COMMITTED.hit()
