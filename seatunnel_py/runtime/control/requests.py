"""Stores requests to a running job, and their answers, in a storage that both sides can reach: the job's directory on
its own machine, and its ``checkpoint.location`` on other machines.

Rules. (1) A request is created under its id, if absent, so that a repeated one is performed once. (2) Its answer is
created in the same way, and never replaced. (3) Only the driver performs requests, also when the sender has ended
meanwhile. (4) A request names the run that it is sent to: the next driver answers the open requests of a dead one, as a
different run. A request in ``AWAIT_START`` names none, and waits for the next start of the job. (5)
`EXPLAIN` and `LIVES` are questions that change nothing; the sender removes them. (6) Requests and answers are sealed
(``checksum_seal.py``). A damaged request, or one of a newer version, is not performed; the answer names the fault.

::

    control/ID.request     the request
    control/ID.progress    its progress, replaced when it changes
    control/ID.answer      its result
"""

from __future__ import annotations

import json
import secrets
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from seatunnel_py.api.storage import Storage
from seatunnel_py.errors import SeaTunnelError, worded
from seatunnel_py.plan.tables.table_refresh import RefreshWish
from seatunnel_py.runtime.storage.checksum_seal import sealed, unsealed

FOLDER = "control"


class ControlDamagedError(SeaTunnelError):
    """A request or an answer is damaged."""


class RequestKind(StrEnum):
    """`STOP` ends the job after a savepoint; `CANCEL` ends it, or some of its tables, at once; `RESET` copies tables of
    a log again, `REFRESH` rows of one table. `APPROVE` and `REJECT` decide about a change of a schema; `ADD_RULE` and
    `REMOVE_RULE` are about rules that do so. `EXPLAIN` asks for a diagnosis, `LIVES` whether the driver of this run
    replies."""

    SAVEPOINT = "savepoint"
    STOP = "stop"
    CANCEL = "cancel"
    RESET = "reset"
    REFRESH = "refresh"
    APPROVE = "approve"
    REJECT = "reject"
    ADD_RULE = "add-rule"
    REMOVE_RULE = "remove-rule"
    EXPLAIN = "explain"
    LIVES = "lives"


RULES = (RequestKind.ADD_RULE, RequestKind.REMOVE_RULE)
AWAIT_START = (RequestKind.RESET, RequestKind.REFRESH, RequestKind.APPROVE, RequestKind.REJECT, *RULES)


@dataclass(frozen=True, slots=True)
class ControlRequest:
    """A request to a job. ``run``: the run that it is sent to; ``name``: of the savepoint, the change or the rule;
    ``tables``: empty means all, of an `ADD_RULE` their pattern; ``seconds``: time after which the driver gives it up.
    ``rows``: those of a `REFRESH` (``RefreshWish.rows_plain``); ``by``: the person who has decided; ``rule``: the kinds
    of an `ADD_RULE`, and whether it approves."""

    id: str
    wish: RequestKind
    run: str
    name: str = ""
    tables: tuple[str, ...] = ()
    seconds: float = 60.0
    rows: dict[str, Any] = field(default_factory=dict)
    by: str = ""
    rule: dict[str, Any] = field(default_factory=dict)

    @property
    def refresh(self) -> RefreshWish:
        """The wish of a `REFRESH`, which names one table."""
        return RefreshWish.of(self.id, self.tables[0], self.rows)

    @property
    def awaits_start(self) -> bool:
        """Whether the next start of the job performs it."""
        return self.wish in AWAIT_START


@dataclass(frozen=True, slots=True)
class ControlAnswer:
    """The answer to a request. ``done``: it was performed; ``about``: details for programs."""

    request: str
    done: bool
    text: str
    remedy: str = ""
    about: dict[str, Any] = field(default_factory=dict)


def request_id() -> str:
    """Make a new, unique id."""
    return secrets.token_hex(6)


class RequestStore:
    """Stores the requests of one job. Names are ``control/ID.what``; ``others``: further storages that may hold
    requests. Each answer goes to the storage of its request."""

    def __init__(self, storage: Storage, *others: Storage) -> None:
        self._storages = (storage, *others)
        self._asked_in: dict[str, Storage] = {}

    def ask(self, request: ControlRequest) -> None:
        """Store a request for the driver."""
        plain = asdict(request)
        for word in ("by", "rule"):
            if not plain[word]:
                del plain[word]  # drivers of older versions refuse words that they do not know
        self._create(request.id, "request", plain)

    def open(self, *, others: bool = True) -> tuple[ControlRequest, ...]:
        """Return the requests without an answer; ``others``: also those in the other storages, which may be remote."""
        storages = self._storages if others else self._storages[:1]
        return tuple(request for storage in storages for request in self._open_in(storage))

    def _open_in(self, storage: Storage) -> tuple[ControlRequest, ...]:
        names = storage.names(FOLDER)
        answered = {name.partition(".")[0] for name in names if name.endswith(".answer")}
        asked = [name.partition(".")[0] for name in names if name.endswith(".request")]
        self._asked_in |= dict.fromkeys(asked, storage)
        found = (self._request(one) for one in asked if one not in answered)
        return tuple(request for request in found if request is not None)

    def _request(self, request: str) -> ControlRequest | None:
        """Read a request. None: it was removed, or it is damaged and answered."""
        try:
            plain = self._read(request, "request")
        except ControlDamagedError as error:
            self.answer(ControlAnswer(request, False, f"nothing was done: {error.message}", "ask again"))
            return None
        if plain is None:
            return None
        try:
            return ControlRequest(**{**plain, "wish": RequestKind(plain["wish"]), "tables": tuple(plain["tables"])})
        except (KeyError, TypeError, ValueError) as error:
            why = f"nothing was done: this driver does not know the request: {worded(error)}"
            self.answer(ControlAnswer(request, False, why, "ask with the version of seatunnel-py that runs the job"))
            return None

    def asked(self, request: str) -> ControlRequest | None:
        """Return a request, answered or not; None: there is none, or it is damaged and answered."""
        return self._request(request)

    def tell(self, request: str, text: str) -> None:
        """Replace the progress of a request."""
        self._of(request).delete(_name(request, "progress"))
        self._of(request).create(_name(request, "progress"), text.encode())

    def told(self, request: str) -> str:
        """Return the last progress of a request."""
        return (self._of(request).get(_name(request, "progress")) or b"").decode(errors="replace")

    def answer(self, answer: ControlAnswer) -> bool:
        """Store an answer. False: the request has one already."""
        return self._create(answer.request, "answer", asdict(answer))

    def answered(self, request: str) -> ControlAnswer | None:
        """Return the answer; None: there is none yet."""
        plain = self._read(request, "answer")
        return None if plain is None else ControlAnswer(**plain)

    def forget(self, request: str) -> None:
        """Remove a request with its progress and answer."""
        for what in ("request", "progress", "answer"):
            self._of(request).delete(_name(request, what))

    def _of(self, request: str) -> Storage:
        return self._asked_in.get(request, self._storages[0])

    def _create(self, request: str, what: str, plain: dict[str, Any]) -> bool:
        name = _name(request, what)
        return self._of(request).create(name, sealed(name, json.dumps(plain, indent=1).encode()))

    def _read(self, request: str, what: str) -> dict[str, Any] | None:
        name = _name(request, what)
        data = self._of(request).get(name)
        try:
            return None if data is None else dict(json.loads(unsealed(name, data)))
        except (ValueError, TypeError) as error:
            where = self._of(request).describe(name)
            raise ControlDamagedError(
                f"{where} is damaged: {error}", "remove it, then send the request again"
            ) from None


def _name(request: str, what: str) -> str:
    return f"{FOLDER}/{request}.{what}"
