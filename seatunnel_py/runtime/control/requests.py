"""What people ask of a running job and what it answers, in a storage that both can reach: the job's place on its own
machine, and its ``checkpoint.location`` for all others.

Rules. (1) A request is created if absent, under its id: asked twice it is one. (2) So is its answer: what was said
stands. (3) Only the driver performs anything. Whoever asked may die meanwhile; it is performed all the same. (4) A
request names the run that it was asked of: what a dead driver left open is answered by the next one, in another run.
(5) A question (EXPLAIN, LIVES) changes nothing and is nobody's business later: whoever asked removes it. (6) Requests
and answers are sealed (``checksum_seal.py``). A damaged request, or one of a version that knows more, is not performed;
it is answered with what is wrong with it.

::

    control/ID.request     what is asked
    control/ID.progress    how far it has come, replaced when it changes
    control/ID.answer      what became of it
"""

from __future__ import annotations

import json
import secrets
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from seatunnel_py.api.storage import Storage
from seatunnel_py.errors import SeaTunnelError, worded
from seatunnel_py.runtime.storage.checksum_seal import sealed, unsealed

FOLDER = "control"


class ControlDamagedError(SeaTunnelError):
    """A request or an answer is not what was written."""


class RequestKind(StrEnum):
    """STOP is a savepoint behind which the job ends; CANCEL ends it, or some of its tables, at once; EXPLAIN asks what
    it is at, LIVES only whether this run works."""

    SAVEPOINT = "savepoint"
    STOP = "stop"
    CANCEL = "cancel"
    EXPLAIN = "explain"
    LIVES = "lives"


@dataclass(frozen=True, slots=True)
class ControlRequest:
    """``run`` names the run that is meant; ``name``: of the savepoint; ``tables``: none means all of them;
    after ``seconds`` the driver gives it up."""

    id: str
    wish: RequestKind
    run: str
    name: str = ""
    tables: tuple[str, ...] = ()
    seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class ControlAnswer:
    """``done``: it is as it was asked for; ``about`` is for machines."""

    request: str
    done: bool
    text: str
    remedy: str = ""
    about: dict[str, Any] = field(default_factory=dict)


def request_id() -> str:
    """A name that no other request has."""
    return secrets.token_hex(6)


class RequestStore:
    """The requests of one job. Names are ``control/ID.what`` in its storage; ``others`` are storages where it may be
    asked too: it is answered where it was asked."""

    def __init__(self, storage: Storage, *others: Storage) -> None:
        self._storages = (storage, *others)
        self._asked_in: dict[str, Storage] = {}

    def ask(self, request: ControlRequest) -> None:
        """Leave it for the driver."""
        self._create(request.id, "request", asdict(request))

    def open(self, *, others: bool = True) -> tuple[ControlRequest, ...]:
        """What nobody has answered yet; in the other storages too, which may be far away."""
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
        """None: it is gone, or damaged, and answered."""
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
            why = f"nothing was done: this driver does not know what is asked: {worded(error)}"
            self.answer(ControlAnswer(request, False, why, "ask with the version of seatunnel-py that runs the job"))
            return None

    def tell(self, request: str, text: str) -> None:
        """How far it has come."""
        self._of(request).delete(_name(request, "progress"))
        self._of(request).create(_name(request, "progress"), text.encode())

    def told(self, request: str) -> str:
        """How far it had come when somebody last said so."""
        return (self._of(request).get(_name(request, "progress")) or b"").decode(errors="replace")

    def answer(self, answer: ControlAnswer) -> bool:
        """What became of it. False: somebody has said so before."""
        return self._create(answer.request, "answer", asdict(answer))

    def answered(self, request: str) -> ControlAnswer | None:
        """The answer, once there is one."""
        plain = self._read(request, "answer")
        return None if plain is None else ControlAnswer(**plain)

    def forget(self, request: str) -> None:
        """Whoever asked knows, and nobody else will want to."""
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
                f"{where} is damaged: {error}", "remove it: it is then as if never asked"
            ) from None


def _name(request: str, what: str) -> str:
    return f"{FOLDER}/{request}.{what}"
