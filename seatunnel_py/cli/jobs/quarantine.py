"""Implements ``seatunnel quarantine``: shows quarantined rows and their causes, and delivers them after a fix."""

from __future__ import annotations

import base64
import shlex
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seatunnel_py import quarantine_replay
from seatunnel_py.api.text.shown import literal_text, shown_values
from seatunnel_py.cli.view.numbers import count
from seatunnel_py.cli.view.terminal import say, say_json
from seatunnel_py.cli.view.value_masks import masked_error, masked_values
from seatunnel_py.errors import ExitCode, SeaTunnelError
from seatunnel_py.nouns import noun
from seatunnel_py.runtime.storage import quarantine_store
from seatunnel_py.runtime.storage.home import Home
from seatunnel_py.runtime.storage.quarantine_store import QuarantineFile
from seatunnel_py.terminal_text import terminal_text

if TYPE_CHECKING:
    import pyarrow as pa

VALUE_CHARACTERS_MAX = 40  # a terminal shows the beginning of a row; --json shows everything
REASONS_MAX, ROWS_LOOKED_AT_MAX = 20, 100_000  # of a table


def listing(job_id: str | None, *, reasons: bool, as_json: bool) -> int:
    """Count the bad rows of each job, table by table, with ``reasons`` also by their masked messages."""
    home = Home.of_environment()
    names = [job_id] if job_id is not None else [place.job_id for place in home.jobs()]
    lines = [line for name in names for line in _tables(home, name)]
    for line in lines if reasons else ():
        line["reasons"] = _reasons(home, line["job_id"], line["table"])
    if as_json:
        say_json(lines)
        return ExitCode.SUCCESS
    if not lines:
        say("no bad rows are kept")
    for line in lines:
        waiting = f"{count(line['waiting']):>10} {noun(line['waiting'], 'row')}"
        say(f"{line['job_id']:32} {line['table']:40} {waiting}{_what_of_them(line)}")
        for reason in line.get("reasons", ()):
            say(f"{count(reason['rows']):>14} {reason['step']}: {reason['error']}")
    return ExitCode.SUCCESS


def _reasons(home: Home, job_id: str, table: str) -> list[dict[str, Any]]:
    """The reasons of the rows that wait, the most frequent first. Messages are masked: else each row would have its
    own, and would show its values."""
    waiting = [one for one in quarantine_replay.held(home, job_id) if one.waiting and one.table == table]
    found: Counter[tuple[str, str]] = Counter()
    for row in islice(_rows(waiting, masked=True), ROWS_LOOKED_AT_MAX):
        found[row["step"], row["error"]] += 1
    return [{"step": step, "error": error, "rows": rows} for (step, error), rows in found.most_common(REASONS_MAX)]


def _what_of_them(line: Mapping[str, Any]) -> str:
    parts = [
        f"{count(line['undecoded'])} could not be decoded" if line["undecoded"] else "",
        f"{count(line['replaying'])} in a replay that has not ended" if line["replaying"] else "",
    ]
    of_them = ", ".join(filter(None, parts))
    return f"{f' ({of_them})' if of_them else ''}, {count(line['replayed'])} replayed"


def _tables(home: Home, job_id: str) -> Iterator[dict[str, Any]]:
    """``rows`` is the sum of waiting and replayed rows."""
    if not quarantine_store.is_owner(job_id):
        return  # rows that a replay has quarantined again are shown with the job that they came from
    tables: dict[str, dict[str, Any]] = {}
    numbers = ("rows", "waiting", "undecoded", "replaying", "replayed")
    for one in quarantine_replay.held(home, job_id):
        line = tables.setdefault(one.table, {"job_id": job_id, "table": one.table, **dict.fromkeys(numbers, 0)})
        line["rows"] += one.rows
        line["waiting"] += one.waiting
        line["undecoded"] += one.undecoded
        line["replaying"] += one.decoded if one.replay and not one.delivered else 0
        line["replayed"] += one.rows - one.waiting
    yield from tables.values()


def show(job_id: str, table: str | None, limit: int, *, masked: bool, as_json: bool) -> int:
    """Show the bad rows of a job that were not delivered since, oldest first; ``masked``: without their values."""
    held = quarantine_replay.held(Home.of_environment(), job_id)
    quarantine_replay.check_table(held, table)
    waiting = [one for one in held if one.waiting and table in (None, one.table)]
    rows = list(islice(_rows(waiting, masked=masked), limit))
    if as_json:
        say_json(rows, default=_plain)
        return ExitCode.SUCCESS
    for row in rows:
        say(f"{row['table']}: {row['step']}: {row['error']}")
        say(f"    {_shown(row)}")
        say(f"    row {row['row'] + 1} of {row['unit']}, split {row['split'] or '–'}, checkpoint {row['checkpoint']}")
    total = sum(one.waiting for one in waiting)
    if total > len(rows):
        say(f"… and {count(total - len(rows))} more: --limit {total}")
    elif not rows:
        say("no bad rows wait to be delivered")
    return ExitCode.SUCCESS


def _rows(held: list[QuarantineFile], *, masked: bool) -> Iterator[dict[str, Any]]:
    from seatunnel_py.work.bad_rows.quarantine_file import read

    for one in held:
        for about, bad in read(str(one.path)):
            if one.delivered and not bad.raw:
                continue
            kinds = bad.batch.kinds.to_pylist() if bad.batch.kinds is not None else [0] * bad.batch.rows
            places = zip(bad.rows, bad.faults, kinds, _values(bad.batch.data), strict=True)
            for row, fault, kind, values in places:
                yield {
                    "table": one.table,
                    "step": fault.step,
                    "error": masked_error(fault.error, values) if masked else fault.error,
                    "values": masked_values(values, bad.batch.data.schema) if masked else values,
                    "kind": kind,
                    "raw": bad.raw,
                    "vertex": about.vertex,
                    "unit": about.unit,
                    "split": about.split,
                    "row": row,
                    "job": one.job,
                    "checkpoint": one.checkpoint,
                    "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(about.at)),
                }


def _values(data: pa.RecordBatch) -> list[dict[str, Any]]:
    columns = [shown_values(column) for column in data.columns]
    return [dict(zip(data.schema.names, row, strict=True)) for row in zip(*columns, strict=True)]


def _shown(row: Mapping[str, Any]) -> str:
    parts = []
    for name, value in row["values"].items():
        text = terminal_text(literal_text(value))
        cut = text if len(text) <= VALUE_CHARACTERS_MAX else f"{text[:VALUE_CHARACTERS_MAX]}…"
        parts.append(f"{name} = {cut}")
    return ", ".join(parts)


def _plain(value: Any) -> Any:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)


@dataclass(frozen=True, slots=True)
class ReplayRequest:
    """The request as given on the command line."""

    job_id: str
    file: Path | None
    variables: Mapping[str, str]
    table: str | None
    as_json: bool


def redeliver(request: ReplayRequest) -> int:
    """Deliver the bad rows of a job; return the exit code."""
    from seatunnel_py.cli.commands.run import performed

    home = Home.of_environment()
    quarantine_replay.check_table(quarantine_replay.held(home, request.job_id), request.table)
    if not quarantine_store.is_owner(request.job_id):
        raise SeaTunnelError(f"{request.job_id} is a replay", "name the job whose rows they are")
    options = quarantine_replay.ReplayOptions(request.variables, request.file, request.table)
    return performed(
        home,
        lambda listen, arm: quarantine_replay.replay(request.job_id, options, home, listen, arm),
        lambda _: _again(request),
        as_json=request.as_json,
    )


def _again(request: ReplayRequest) -> str:
    words = ["seatunnel", "quarantine", "replay", request.job_id]
    words += ["--file", str(request.file)] if request.file else []
    return shlex.join([*words, *(["-i", "…"] if request.variables else [])]).replace("'…'", "…")
