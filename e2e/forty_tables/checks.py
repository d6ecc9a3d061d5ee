"""Every line and sentence of a receipt, beside what is so."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from e2e.forty_tables import contents
from e2e.forty_tables.facts import Table
from e2e.forty_tables.receipt import Line
from e2e.forty_tables.trial import LARGE, Place, Run

NO_NAN = "Jdbc-sink-1: writing table public_measurements: column 'value': MySQL and MariaDB have no NaN and no infinity"


def same(found: contents.Rows | None, expected: contents.Rows | None) -> None:
    """Row by row; a message shows a few of those that differ."""
    if found == expected:
        return
    assert found is not None and expected is not None, "one of them is not there"
    more, less = [*(found - expected)][:2], [*(expected - found)][:2]
    pytest.fail(f"too many: {str(more)[:500]}\nmissing: {str(less)[:500]}")


def number(text: str) -> int:
    return int(text.replace(",", ""))


def bare(text: str) -> str:
    return "".join(text.split())


def counted(rows: int, what: str = "row") -> str:
    return f"{rows:,} {what}{'' if rows == 1 else 's'}"


def cause(place: Place, run: Run, table: Table, *, replaces: bool) -> str:
    """Why this table cannot arrive; empty: it has to."""
    if table.isolated:
        return f"Jdbc-source-1: {table.isolated}"
    there, twice = run.before[table.shown], f"the rows of table {table.shown} would be there twice"
    if place.kind == "files":
        files = len(run.files[table.shown])
        path, why = place.trial.home / place.shown(table), "files of one run never replace those of another"
        return f"{path} holds {counted(files, 'file')}, and {why}: {twice}" if files and not replaces else ""
    if there and not table.key and not replaces:
        held = counted(there.total())
        return f"{place.shown(table)} holds {held}, and there is no key to update them by: {twice}"
    return NO_NAN if place.kind == "mariadb" and table.shown == "shop.public.measurements" else ""


def check_before(place: Place, run: Run, table: Table, said: str, *, replaces: bool) -> None:
    there = run.before[table.shown]
    if there is None:
        assert said == "new"
    elif place.kind == "files":
        assert said == bare(f"replaced ({counted(len(run.files[table.shown]), 'file')} there)")
    elif there.total() > 100_000:
        about = re.fullmatch(r"updatedbykey\((?:about([\d,]+)|morethan100,000)rowsthere\)", said)
        assert about and (not about[1] or abs(number(about[1]) - there.total()) < 0.2 * there.total()), said
    elif replaces:
        assert said == bare(f"replaced ({counted(there.total())} there)")
    elif table.key:
        assert said == bare(f"updated by key ({counted(there.total())} there)")
    else:
        assert said == "appendedto0rows" and not there


def check_table(place: Place, run: Run, table: Table, *, replaces: bool) -> None:
    """What the receipt says of one table, and what is in its target."""
    line, plain = run.receipt.lines[table.shown], next(one for one in run.json["tables"] if one["table"] == table.shown)
    why = cause(place, run, table, replaces=replaces)
    assert line.state == ("isolated" if why else "done") == plain["state"].lower(), (table.shown, line)
    assert run.receipt.causes.get(table.shown, ("",))[0] == why
    assert (plain["cause"] or {"remedy": ""})["remedy"] == run.receipt.causes.get(table.shown, ("", ""))[1]
    rows = 0 if why else table.count
    assert (number(line.read), line.filtered, line.rejected) == (rows, "0", "0")
    assert plain["rows_read"] == rows and plain["rows_filtered"] == plain["rows_rejected"] == 0
    assert 0 <= plain["seconds"] <= run.json["seconds"]["total"]
    if table.isolated:
        assert (line.into, line.written, line.before, plain["targets"]) == ("", "", "", [])
        return
    (into,) = plain["targets"]
    home = f"{place.trial.home}/"
    assert bare(line.into) == bare(place.shown(table)) == bare(into["target"].removeprefix(home))
    assert number(line.written) == into["rows_written"] == plain["rows_written"] == rows
    assert bool(into["bytes_written"]) >= bool(rows)
    if not why or why == NO_NAN:
        assert bare(into["present"]["text"]) == bare(line.before)
        check_before(place, run, table, bare(line.before), replaces=replaces)
    before, after = run.before[table.shown], run.after[table.shown]
    if why:
        same(after, Counter() if why == NO_NAN else before)
    elif before is None or replaces or not table.key:
        same(after, table.rows)
    else:
        same(after, contents.merged(before, table.rows, table.key))
    if place.kind == "files" and not why:
        # The file of an empty table has its columns only, which are no rows' bytes.
        assert into["bytes_written"] == (run.bytes[table.shown] if rows else 0)


def check_receipt(place: Place, run: Run, *, replaces: bool = False) -> None:
    """Every line and sentence."""
    receipt, told, source = run.receipt, run.json, run.source
    assert receipt.lines.keys() == source.keys() == {one["table"] for one in told["tables"]}
    for table in source.values():
        check_table(place, run, table, replaces=replaces)
    done = {name for name, line in receipt.lines.items() if line.state == "done"}
    code = 0 if len(done) == len(source) else 3 if done else 1
    state = {0: "success", 3: "some tables failed", 1: "failed"}[code]
    assert (run.code, receipt.state, told["exit_code"]) == (code, state, code)
    assert told["state"] == state.upper().replace(" ", "_") and told["job_id"] == receipt.job_id
    given, address = (re.sub("//[a-z]+@", "//", one) for one in (place.source, place.address))
    assert receipt.job_name == f"copy {given} to {address}"
    check_totals(run, sum(source[name].count for name in done))
    check_sentences(place, run, done)


def check_totals(run: Run, rows: int) -> None:
    total, told = run.receipt.total, run.json
    assert total == Line(
        counted(len(run.source), "table"), "", f"{rows:,}", f"{rows:,}", "0", "0", total.bytes, total.time
    )
    assert told["totals"]["rows_read"] == told["totals"]["rows_written"] == told["this_run"]["rows_read"] == rows
    assert told["totals"]["bytes_written"] == sum(one["bytes_written"] for one in told["tables"])
    seconds = told["seconds"]
    assert total.time == _shown(seconds["total"])
    assert 0 < seconds["start"] + seconds["data"] <= seconds["total"] + 0.01 and seconds["total"] <= run.wall
    assert run.receipt.rate == (f"{rows / seconds['data']:,.0f} rows/s" if rows else "")
    assert run.receipt.moved == (_shown(seconds["data"]) if rows else "")


def _shown(seconds: float) -> str:
    return f"{seconds:.{1 if seconds < 10 else 0}f} s"


def check_sentences(place: Place, run: Run, done: set[str]) -> None:
    receipt, told, source = run.receipt, run.json, run.source
    if len(source) == 40:
        others = place.trial.others
        said = {why.rpartition(",")[2]: (total, sorted(names)) for why, (total, names) in receipt.left_out.items()}
        assert said == {kind: (len(names), sorted(names)) for kind, names in others.items()}
    elif "--exclude" in place.into:
        assert receipt.left_out == {"excluded": (1, [f"copy.{LARGE}"])}
    arrived = [one for one in told["tables"] if one["table"] in done]
    converted = {one["table"]: one["targets"][0]["conversions"] for one in arrived}
    columns, tables = sum(map(len, converted.values())), sum(map(bool, converted.values()))
    checked = sum(one["checked"] for found in converted.values() for one in found)
    assert receipt.converted == (columns, tables, checked)
    lacking = {one["table"]: Counter(x["kind"] for x in one["targets"][0]["not_carried_over"]) for one in arrived}
    known = {name for name in done if place.kind != "files" and run.before[name] is None}
    for name, found in lacking.items():
        del found["unique key"]  # MariaDB has none over texts without a length
        assert found == (source[name].lacks(place.kind) if name in known else Counter()), name
    of_all = sum((Counter(x["kind"] for x in one["targets"][0]["not_carried_over"]) for one in arrived), Counter())
    texts = {"index": "indexes", "identity": "identities", "partitioning": "partitionings"}
    kinds = {kind if n == 1 else texts.get(kind, f"{kind}s"): n for kind, n in of_all.items()}
    lack = sum(bool(one["targets"][0]["not_carried_over"]) for one in arrived)
    assert receipt.lacking == (lack, kinds)
    assert (receipt.earlier, receipt.kept) == ((), 0)
    directory = Path(receipt.directory)
    assert directory == place.trial.home / ".seatunnel/jobs" / receipt.job_id
    assert (directory / "events.jsonl").exists()
    going_on = rf"seatunnel run (\S+) --job-id {receipt.job_id} --restore latest"
    if len(done) < len(source):
        found = re.fullmatch(going_on, receipt.goes_on)
        assert found and Path(found[1]).exists()
    else:
        assert not receipt.goes_on
