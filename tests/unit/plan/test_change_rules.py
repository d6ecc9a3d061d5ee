"""Rules decide about changes of schemas: all parts of a change, all rules of one mind, of tables with an inbox."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from seatunnel_py.api import (
    STRING,
    Column,
    SchemaBehavior,
    SchemaEvent,
    SchemaPolicy,
    SourceTable,
    TablePath,
    TableSchema,
)
from seatunnel_py.plan.change_rules import ChangeRule, deciding
from seatunnel_py.plan.followed_schema import kinds_of
from seatunnel_py.runtime.storage.journal import Journal, removed_rule_line, rule_line
from seatunnel_py.work.schema_alteration import SchemaAlteration

PATH = TablePath("shop", "public", "orders")
BEFORE = SourceTable(TableSchema(PATH, (Column("id", STRING), Column("old", STRING))))
INBOX = SchemaPolicy(SchemaBehavior.INBOX)


def change(*columns: str, truncates: bool = False) -> SchemaAlteration:
    table = SourceTable(TableSchema(PATH, tuple(Column(name, STRING) for name in columns)))
    return SchemaAlteration(table, truncates=truncates)


CHANGES = {
    "added": change("id", "old", "new"),
    "dropped": change("id"),
    "both": change("id", "new"),
    "truncated": change("id", "old", truncates=True),
    "none": change("id", "old"),
}
RULES = st.builds(
    ChangeRule,
    st.integers(0, 10**9).map(str),
    st.sampled_from((r".*\.orders", "shop.*", r".*\.lines")),
    st.lists(st.sampled_from(SchemaEvent), min_size=1, unique=True).map(tuple),
    st.booleans(),
    st.just("anna"),
)


@given(st.lists(RULES, max_size=5), st.sampled_from(sorted(CHANGES)))
def test_each_part_needs_a_rule_and_none_may_disagree(rules: list[ChangeRule], name: str) -> None:
    kinds = kinds_of(CHANGES[name], BEFORE.schema)
    of_table = [one for one in rules if "lines" not in one.table]
    named = [{one.approves for one in of_table if kind in one.kinds} for kind in kinds]
    decided = bool(named) and all(named) and len(set.union(*named)) == 1
    found = deciding(rules, CHANGES[name], BEFORE, INBOX)
    assert bool(found) == decided
    assert set(deciding(rules[::-1], CHANGES[name], BEFORE, INBOX)) == set(found), "the order has no effect"
    assert len({one.approves for one in found}) == decided
    for behavior in SchemaBehavior:
        if behavior is not SchemaBehavior.INBOX:
            assert deciding(rules, CHANGES[name], BEFORE, SchemaPolicy(behavior)) == ()


def test_a_change_that_need_not_wait_is_not_decided() -> None:
    rule = ChangeRule("1", ".*", tuple(SchemaEvent), approves=True, by="anna")
    excluding = replace(INBOX, exclude=frozenset({SchemaEvent.ADD_COLUMN}))
    assert deciding([rule], CHANGES["added"], BEFORE, INBOX) == (rule,)
    assert deciding([rule], CHANGES["added"], BEFORE, excluding) == ()
    stopped = replace(CHANGES["added"], stops=("it is gone", "copy it again"))
    assert deciding([rule], stopped, BEFORE, INBOX) == ()


@given(st.lists(RULES, max_size=4, unique_by=lambda one: one.id), st.data())
def test_a_journal_keeps_rules_and_their_removals(rules: list[ChangeRule], data: st.DataObject) -> None:
    """Whatever the order of the lines."""
    removed = data.draw(st.lists(st.sampled_from(rules), unique_by=lambda one: one.id)) if rules else []
    lines = [rule_line(one.to_plain()) for one in rules]
    lines += [removed_rule_line({"rule": one.id, "by": "berta", "at": 1.0}) for one in removed]
    first, again = Journal(), Journal()
    for line in data.draw(st.permutations(lines)):
        first.apply(line)
    for line in first.lines():
        again.apply(line)
    assert (again.rules, again.removed_rules) == (first.rules, first.removed_rules)
    assert {name: ChangeRule.of(one) for name, one in again.rules.items()} == {one.id: one for one in rules}
