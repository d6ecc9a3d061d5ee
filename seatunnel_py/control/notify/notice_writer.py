"""Writes notices into the outbox, in the transaction of the change that they report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from seatunnel_py.control.notify import trouble_rules
from seatunnel_py.control.notify.event_kinds import EventKind
from seatunnel_py.control.notify.notice import Notice, NoticedRun, event_of
from seatunnel_py.control.notify.target_settings import NotifySettings
from seatunnel_py.control.store.outbox import outbox_events, troubles


@dataclass(frozen=True, slots=True)
class NoticeWriter:
    """``settings``: of now; ``now``: wall-clock seconds; ``page``: the address of the server's page."""

    settings: Callable[[], NotifySettings]
    now: Callable[[], float]
    page: str = ""

    @property
    def active(self) -> bool:
        """Whether there is any target."""
        return bool(self.settings().targets)

    def write(self, connection: Connection, notice: Notice) -> None:
        """Keep the event of a notice for each target that wants it, and what the job's trouble has become."""
        if not self.active:
            return
        now = self.now()
        before = troubles.of_subject(connection, notice.of.subject)
        decision = trouble_rules.after(before, notice, now)
        if decision.trouble is not None:
            troubles.keep(connection, decision.trouble)
        if decision.sent:
            more = {"folded": decision.folded} if decision.folded else {}
            self._add(connection, replace(notice, more={**notice.more, **more}), now)
        if before is not None and notice.kind is EventKind.RUN_SUCCEEDED:
            self.recovered(connection, before, notice.of)

    def recovered(self, connection: Connection, trouble: troubles.Trouble, of: NoticedRun) -> None:
        """Close a trouble."""
        troubles.close(connection, trouble.subject)
        more = {"since": trouble.at, "after": trouble.event}
        self._add(connection, Notice(EventKind.RUN_RECOVERED, of, trouble.event, more=more), self.now())

    def _add(self, connection: Connection, notice: Notice, now: float) -> None:
        names = self.settings().receivers(notice)
        if names:
            outbox_events.add(connection, event_of(notice, now, self.page), names, now)
