"""What became of each key, step by step: as triggers at the source have noted it, and as messages of a change log say it.

A step is ``(sign, source, seq, digest of the note)``. ``+``: the key has this row from now on; ``-``: it has the row no
longer. An update is both: the logs hold the rows before updates. A row of a table is unique by its key, ``source`` and
``seq``.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import md5
from typing import Any

CAME, WENT = "+", "-"
Step = tuple[str, str | None, int | None, str | None]
NOTED = "history"
"""The table with all steps. ``at`` orders those of one key: a writer draws it while it holds the key's lock."""
_INSERT = f"INSERT INTO {NOTED} (name, sign, id, source, seq, note)"
_FIRST = f"{_INSERT} SELECT '{{table}}', '+', id, source, seq, md5(note) FROM {{table}}"


def postgres_notes(tables: Sequence[str]) -> list[str]:
    """Statements that note the rows of PostgreSQL's tables, and every step from now on. Rows are read as JSON: a plan
    of the function does not outlive a change of a column's type."""
    row = "(SELECT TG_TABLE_NAME, '{}', (n->>'id')::int, n->>'source', (n->>'seq')::int, md5(n->>'note') FROM to_jsonb({}) n)"
    went, came = f"{_INSERT} {row.format('-', 'OLD')};", f"{_INSERT} {row.format('+', 'NEW')};"
    body = f"""BEGIN
        IF TG_OP <> 'INSERT' THEN {went} END IF;
        IF TG_OP <> 'DELETE' THEN {came} END IF;
        RETURN NULL; END"""
    return [
        f"CREATE TABLE {NOTED} (at bigserial, name text, sign text, id int, source text, seq int, note text)",
        f"CREATE FUNCTION remember() RETURNS trigger LANGUAGE plpgsql AS $${body}$$",
        *(_FIRST.format(table=table) for table in tables),
        *(
            f"CREATE TRIGGER remember AFTER INSERT OR UPDATE OR DELETE ON {table} "
            "FOR EACH ROW EXECUTE FUNCTION remember()"
            for table in tables
        ),
    ]


def mariadb_notes(tables: Sequence[str]) -> list[str]:
    """The same of MariaDB's tables."""
    statements = [
        f"CREATE TABLE {NOTED} (at bigint AUTO_INCREMENT PRIMARY KEY, name varchar(20), sign char(1), id int, "
        "source varchar(20), seq int, note char(32))"
    ]
    for table in tables:
        went = f"{_INSERT} VALUES ('{table}', '-', OLD.id, OLD.source, OLD.seq, md5(OLD.note));"
        came = f"{_INSERT} VALUES ('{table}', '+', NEW.id, NEW.source, NEW.seq, md5(NEW.note));"
        for event, body in {
            "INSERT": came, "UPDATE": f"{went} {came}", "DELETE": went
        }.items():  # fmt: skip
            trigger = f"CREATE TRIGGER {table}_{event} AFTER {event} ON {table} FOR EACH ROW"
            statements.append(f"{trigger} BEGIN {body} END")
        statements.append(_FIRST.format(table=table))
    return statements


@dataclass(frozen=True, slots=True)
class History:
    """``steps`` by key. ``rows``: the last row of each key, by the names of its columns. ``messages``: how many there
    were."""

    steps: Mapping[int, Sequence[Step]]
    rows: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    messages: int = 0


def noted(rows: Iterable[tuple[str, int, str, int, str]]) -> Mapping[int, Sequence[Step]]:
    """The steps of a table, from ``sign, id, source, seq, note`` of each in their order."""
    steps: dict[int, list[Step]] = defaultdict(list)
    for sign, key, *row in rows:
        steps[key].append((sign, *row))
    return steps


def told(messages: Iterable[bytes | str]) -> History:
    """What messages in Debezium's format say."""
    steps: dict[int, list[Step]] = defaultdict(list)
    rows: dict[int, Mapping[str, Any]] = {}
    count = 0
    for message in messages:
        count += 1
        document = json.loads(message)
        before, after = document["before"], document["after"]
        if before is not None:
            steps[before["id"]].append(_step(WENT, before))
            rows.pop(before["id"], None)
        if after is not None:
            steps[after["id"]].append(_step(CAME, after))
            rows[after["id"]] = after
    return History(steps, rows, count)


def _step(sign: str, row: Mapping[str, Any]) -> Step:
    return sign, row["source"], row["seq"], _digest(row["note"])


@lru_cache(1000)
def _digest(note: str | None) -> str | None:
    return None if note is None else md5(note.encode()).hexdigest()


def difference(
    wanted: Mapping[int, Sequence[Step]], found: History, late: Mapping[int, int], *, repeats: bool = False
) -> str:
    """Where the steps of a key are not the last ones of those that were noted, each once and in order. They begin with
    the row that was copied; only the last ``late[key]`` noted steps must all be there. ``repeats``: the log may begin
    before the copied row, and tell again how it came to be. Empty: nowhere."""
    if invented := found.steps.keys() - wanted.keys():
        return f"{len(invented)} keys that never were: {sorted(invented)[:3]}"
    for key, steps in wanted.items():
        of_key = found.steps.get(key, ())
        if not (_are_last(of_key, steps) or (repeats and _are_last_after_copy(of_key, steps, late.get(key, 0)))):
            return f"key {key} has another history: {_around(steps, of_key)}"
        if of_key and of_key[0][0] != CAME and not repeats:
            return f"key {key} went before it came: {of_key[:2]}"
        lacking = late.get(key, 0) - len(of_key)
        if lacking > 0 or (not of_key and steps[-1][0] == CAME):
            return f"key {key} lacks steps: {len(of_key)} of {len(steps)}, {late.get(key, 0)} of which were late"
    return ""


def _are_last(found: Sequence[Step], steps: Sequence[Step]) -> bool:
    return len(found) <= len(steps) and all(map(_is_same, found, steps[len(steps) - len(found) :]))


def _are_last_after_copy(found: Sequence[Step], steps: Sequence[Step], late: int) -> bool:
    """Whether the first is a copied row, and the others are the last ones: at least all that followed the copied row."""
    logged = found[1:]
    copied = steps[max(0, len(steps) - len(logged) - 1) : len(steps) - late]
    return found[0] in copied and _are_last(logged, steps)


def _is_same(one: Step, other: Step) -> bool:
    """The log of a row that goes may hold its key alone."""
    return one == other or one == (WENT, None, None, None) == (other[0], None, None, None)


def _around(steps: Sequence[Step], found: Sequence[Step]) -> str:
    """The first place, from the end, where they differ."""
    at = 1
    while at <= min(len(steps), len(found)) and _is_same(found[-at], steps[-at]):
        at += 1
    there = f"before them {found[-at:][:2]} for {steps[-at:][:2]}"
    return f"{at - 1} steps of {len(found)} from the end are those of the source, {there}"
