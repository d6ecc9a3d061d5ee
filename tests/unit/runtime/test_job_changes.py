"""A job file that has changed: every change has its words, and what it takes to go on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from seatunnel_py.config.job_file import loads
from seatunnel_py.plan import pipelines, table_graph
from seatunnel_py.plan.plugins.installed import installed
from seatunnel_py.plan.steps import understand
from seatunnel_py.runtime.resume.job_diff import (
    Change,
    ChangeKind,
    ChangesRefusedError,
    Described,
    RequiredFlag,
    changes,
    described,
    refuse,
)
from seatunnel_py.runtime.values.topology_builder import keys

TABLE = '{{ schema {{ table = "shop.{}", fields {{ id = bigint, name = string }} }}, row.num = {} }}'


def job(
    tables: dict[str, int],
    *,
    parallelism: int = 1,
    fields: str = "[id]",
    out: str = "out",
    sink: str = "",
    pw: str = "a",
) -> Described:
    configs = ", ".join(TABLE.format(name, rows) for name, rows in tables.items())
    text = f"""
    env {{ parallelism = {parallelism} }}
    source {{ FakeSource {{ plugin_output = read, tables_configs = [{configs}] }} }}
    transform {{ Filter {{ plugin_input = read, plugin_output = kept, include_fields = {fields} }} }}
    sink {{ LocalFile {{ plugin_input = kept, path = "/tmp/{out}/${{table_name}}", file_format_type = csv{sink} }} }}
    """
    understood = understand(loads(text), installed())
    return described(understood, keys(pipelines.divide(table_graph.build(understood, None))))


BEFORE = {"a": 5, "b": 5}


def with_sink(sink: str, source: str = f"FakeSource {TABLE.format('a', 5)}") -> Described:
    """As it is read again by the next run: it was written down as JSON."""
    text = f"source {{ {source} }}\nsink {{ {sink} }}"
    understood = understand(loads(text), installed())
    plain: Described = json.loads(
        json.dumps(described(understood, keys(pipelines.divide(table_graph.build(understood, None)))))
    )
    return plain


def found(now: Described) -> list[Change]:
    """What is different, beside what is kept."""
    return [change for change in changes(job(BEFORE), now) if change.fate is not ChangeKind.KEPT]


def test_the_same_job_is_kept() -> None:
    assert changes(job(BEFORE), job(BEFORE)) == (Change("2 tables", ChangeKind.KEPT, "go on where they stood"),)


@pytest.mark.parametrize(
    ("now", "words", "needs"),
    [
        (job({"a": 5, "b": 5, "c": 5}), "added table shop.c: begins at its beginning", RequiredFlag.NOTHING),
        (job({"a": 5}), "dropped table shop.b: what it has written stays", RequiredFlag.ACCEPTANCE),
        (job(BEFORE, parallelism=4), "changed read[shop.a] of shop.a: parallelism 1 -> 4", RequiredFlag.NOTHING),
        (
            job(BEFORE, fields="[name]"),
            "include_fields; rows from here on pass it as it is now",
            RequiredFlag.ACCEPTANCE,
        ),
        (
            job(BEFORE, sink=", field_delimiter = ';'"),
            "field_delimiter; rows from here on are written",
            RequiredFlag.ACCEPTANCE,
        ),
        (
            job(BEFORE, out="other"),
            "rows up to here are in /tmp/out/a, the others would be in /tmp/other/a",
            RequiredFlag.FRESH,
        ),
        (job({"a": 5, "b": 6}), "tables_configs; what is read from here on is read like that", RequiredFlag.ACCEPTANCE),
        (job({"a": 6, "b": 5, "c": 5}), "tables_configs; what is read from here on", RequiredFlag.ACCEPTANCE),
    ],
)
def test_each_change_says_what_follows(now: Described, words: str, needs: RequiredFlag) -> None:
    """Bounds of a table that stays are no silent drift, not even where another table comes with them."""
    said = found(now)
    matching = [change for change in said if words in str(change)]

    assert matching, list(map(str, said))
    assert matching[0].needs is needs


def test_only_what_has_changed_is_said() -> None:
    """A longer list of tables is no other source."""
    assert [change.fate for change in found(job({"a": 5, "b": 5, "c": 5}))] == [ChangeKind.ADDED]
    assert [change.fate for change in found(job({"a": 5}))] == [ChangeKind.DROPPED]


def test_what_nobody_has_accepted_is_refused_with_every_reason() -> None:
    said = found(job({"a": 5}, fields="[name]"))

    with pytest.raises(ChangesRefusedError) as refused:
        refuse(said, accepted=False)
    told = "\n".join(refused.value.changes)
    assert "dropped table shop.b" in told and "include_fields" in told
    assert "shop.b" not in str(refused.value), "people were told before: it is said once"
    assert "--accept-changes" in refused.value.remedy
    refuse(said, accepted=True)


def test_another_target_is_refused_whatever_was_accepted() -> None:
    with pytest.raises(ChangesRefusedError) as refused:
        refuse(found(job(BEFORE, out=str(Path("other")))), accepted=True)
    assert "the others would be in" in "\n".join(refused.value.changes)
    assert "--fresh" in refused.value.remedy


def test_another_promise_is_refused_before_anything_happens(tmp_path: Path) -> None:
    """Its checkpoints cannot be gone on from: to offer --accept-changes would be a lie."""
    table = f'Jdbc {{ url = "jdbc:sqlite:{tmp_path / "t.db"}", generate_sink_sql = true, table = t }}'
    exactly, loosely = with_sink(table.replace(" }", ", is_exactly_once = true }")), with_sink(table)
    changed = [change for change in changes(exactly, loosely) if change.needs is RequiredFlag.FRESH]

    assert "two-phase" in str(changed[0]) and "at-least-once" in str(changed[0])
    assert [one.fate for one in changes(exactly, exactly)] == [ChangeKind.KEPT]


def test_a_plan_of_an_older_version_says_nothing_of_promises() -> None:
    before = job(BEFORE)
    older = {
        **before,
        "pipelines": {
            name: {key: value for key, value in one.items() if key != "graph"}
            for name, one in before["pipelines"].items()
        },
    }

    assert changes(older, job(BEFORE)) == (Change("2 tables", ChangeKind.KEPT, "go on where they stood"),)


def test_columns_in_another_order_are_other_columns(tmp_path: Path) -> None:
    """Files of text are read by place: what was a name would be a town from here on."""
    (tmp_path / "in.csv").write_text("a,b\n")

    def reading(fields: str) -> Described:
        options = f'path = "{tmp_path}", file_format_type = csv, schema {{ fields {{ {fields} }} }}'
        return with_sink("Console {}", f"LocalFile {{ {options} }}")

    [said] = [
        one
        for one in changes(reading("name = string, town = string"), reading("town = string, name = string"))
        if one.fate is not ChangeKind.KEPT
    ]

    assert said.needs is RequiredFlag.ACCEPTANCE
    assert "in another order, town string, name string" in str(said)


def test_a_list_of_columns_does_not_grow_with_the_tables(tmp_path: Path) -> None:
    """Among so many entries more as there are tables more, only lists that name tables are no change."""

    def job_of(tables: str, keys: str) -> Described:
        to = f'url = "jdbc:sqlite:{tmp_path / "t.db"}", generate_sink_sql = true, table = "${{table_name}}"'
        return with_sink(f"Jdbc {{ {to}, primary_keys = {keys} }}", f"FakeSource {{ tables_configs = [{tables}] }}")

    one, two = TABLE.format("a", 5), f"{TABLE.format('a', 5)}, {TABLE.format('b', 5)}"
    said = list(map(str, changes(job_of(one, "[id]"), job_of(two, "[id, name]"))))

    assert any("primary_keys" in words for words in said), said
    assert not any("tables_configs" in words for words in said), said


@pytest.mark.parametrize("now", ['username = "b", password = "secret"', 'username = "${env:HOME}"', ""])
def test_who_gets_in_is_no_change_of_what_is_written(tmp_path: Path, now: str) -> None:
    """A password that was changed, or moved into the environment, is no reason to ask anybody."""

    def to(who: str) -> Described:
        return with_sink(
            f'Jdbc {{ url = "jdbc:sqlite:{tmp_path / "t.db"}", generate_sink_sql = true, table = t, {who} }}'
        )

    found = changes(to('username = "a"'), to(now))
    assert [one.fate for one in found] == [ChangeKind.KEPT]


def following(*tables: str, columns: str = "id bigint") -> Described:
    """The log of these tables, each with a sink of its own."""
    sinks = {f"out~log[{table}]": f"shop.{table}" for table in tables}
    log = {
        "vertices": {"in~log": 1} | {f"{sink}<in~log": 1 for sink in sinks},
        "sinks": sinks,
        "masked": {},
        "graph": [["in~log", sink] for sink in sinks],
        "has_log": True,
        "promises": dict.fromkeys(sinks, "IDEMPOTENT"),
        "columns": {table: [columns] for table in tables},
    }
    return {"steps": {}, "pipelines": {"log of in": log}}


def test_tables_join_a_log_without_a_flag() -> None:
    """F-C45: the others go on where they stood."""
    kept, joins = changes(following("a"), following("a", "b", "c"))
    assert kept.fate is ChangeKind.KEPT
    assert str(joins) == "changed log of in: these tables join it once they are copied: b, c"
    assert joins.needs is RequiredFlag.NOTHING


def test_the_tables_of_a_log_may_be_named_in_another_order() -> None:
    """The log is planned in the order of its checkpoint."""
    (kept,) = changes(following("a", "b"), following("b", "a"))
    assert kept.fate is ChangeKind.KEPT


def test_tables_leave_a_log_if_that_is_accepted() -> None:
    """Also if others come instead."""
    for now in (following("a"), following("a", "c")):
        (leaves,) = (one for one in changes(following("a", "b"), now) if one.needs is RequiredFlag.ACCEPTANCE)
        assert str(leaves).startswith("changed log of in: these tables leave it, and their targets keep their rows: b")
        assert RequiredFlag.FRESH not in {one.needs for one in changes(following("a", "b"), now)}
