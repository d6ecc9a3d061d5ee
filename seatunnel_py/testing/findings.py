"""Collects findings about a plugin: a list of properties, each kept, broken or not promised."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.work.failing_code import described


class Verdict(StrEnum):
    """``BROKEN`` is a declared promise that does not hold."""

    KEPT = "kept"
    BROKEN = "broken"
    NOT_PROMISED = "not promised"


@dataclass(frozen=True, slots=True)
class Finding:
    """Result for one property. ``why``: the reason why it is broken or not promised; ``trace``: the traceback of a
    raised exception."""

    property: str
    verdict: Verdict
    why: str = ""
    trace: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """Everything about one plugin in one configuration; ``guarantee`` is what it declares."""

    plugin: str
    guarantee: str
    findings: tuple[Finding, ...]

    @property
    def broken(self) -> tuple[Finding, ...]:
        return tuple(one for one in self.findings if one.verdict is Verdict.BROKEN)

    @property
    def text(self) -> str:
        lines = [f"{self.plugin} declares {self.guarantee}"]
        traces: dict[str, str] = {}
        for one in self.findings:
            lines.append(f"  {one.verdict:<13}{one.property}{f': {one.why}' if one.why else ''}")
            if one.trace:
                traces.setdefault(one.why, one.trace)  # of equal traces the first is enough
        return "\n".join([*lines, *traces.values()])


class BrokenPropertyError(Exception):
    """A property does not hold; the text gives the reason."""


def tried(name: str, attempt: Callable[[], str | None]) -> Finding:
    """Try one property. Any exception of the plugin breaks this property, and no other. ``attempt`` may return a
    measured value."""
    try:
        measured = attempt()
    except BrokenPropertyError as broken:
        return Finding(name, Verdict.BROKEN, str(broken))
    except KeyboardInterrupt:
        raise  # from the keyboard
    except BaseException as error:  # noqa: BLE001 - the plugin's own
        trace = "".join(traceback.format_exception(error))
        why = error.message if isinstance(error, SeaTunnelError) else described(error)
        return Finding(name, Verdict.BROKEN, why, trace)
    return Finding(name, Verdict.KEPT, measured or "")
