"""Which tables a transform step is meant for: those of its ``table_transform``, and those of ``table_match_regex``.

Both name tables by their full names. A rule that applies to no table is legal, since its table may be created later;
it is most often a wrong name, and a note shows the nearest one.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from seatunnel_py.api.options import JOB_FILE
from seatunnel_py.api.options.step import ALL_TABLES, NO_TABLE, RuleMatchMode, TransformOptions
from seatunnel_py.api.schema import TablePath
from seatunnel_py.api.text.java_regex import name_pattern
from seatunnel_py.errors import Problem
from seatunnel_py.plan.steps import Step

PATTERN, RULES, PATH = "table_match_regex", "table_transform", "table_path"


def options_for(step: Step, table: TablePath, problems: list[Problem]) -> list[Any]:
    """The option models that apply to a table: an exact ``table_path`` wins over ``table_match_regex``."""
    options = step.options
    rules = [rule for rule in options.table_transform if rule[PATH] == table.full_name]
    if rules:
        wanted = rules if options.rule_match_mode is RuleMatchMode.ALL_MATCH else rules[:1]
        return [_special(step, rule, problems) for rule in wanted]
    return [options] if name_pattern(options.table_match_regex).fullmatch(table.full_name) else []


def _special(step: Step, rule: Mapping[str, Any], problems: list[Problem]) -> Any:
    """The options that a rule gives for its table. The step's own options do not apply there, as in SeaTunnel."""
    common = {name: getattr(step.options, name) for name in TransformOptions.model_fields}
    special = {key: value for key, value in rule.items() if key != PATH}
    try:
        options = type(step.options).model_validate(special, context={JOB_FILE: True})
        return options.model_copy(update=common)
    except ValidationError as error:
        for found in error.errors(include_url=False, include_input=False):
            where = ".".join(str(part) for part in found["loc"])
            message = f"{RULES} for {rule[PATH]}: {where}: {found['msg']}"
            problems.append(step.node.problem(message, option=RULES))
        return step.options


def unused(step: Step, tables: Sequence[TablePath]) -> Iterator[Problem]:
    """Notes on a pattern and on rules that apply to none of the tables that reach the step."""
    options = step.options
    if not isinstance(options, TransformOptions) or not tables:
        return
    if options.table_match_regex == ALL_TABLES and not options.table_transform:
        return
    names = [table.full_name for table in tables]
    known = frozenset(names)
    for rule in options.table_transform:
        if (wanted := rule[PATH]) not in known:
            near = difflib.get_close_matches(wanted, names, 1, 0.0)[0]
            yield _note(step, RULES, f"no table {wanted!r} reaches this step", near)
    pattern = name_pattern(options.table_match_regex)
    if options.table_match_regex != NO_TABLE and not any(map(pattern.fullmatch, names)):
        text = f"{options.table_match_regex!r} matches no table that reaches this step"
        yield _note(step, PATTERN, text, pattern.nearest(names))


def join_problem(step: Step) -> Problem | None:
    """Refuse both options for a query that joins its inputs, each of which is one table."""
    for option, without in ((PATTERN, ALL_TABLES), (RULES, ())):
        if getattr(step.options, option) not in (without, NO_TABLE):
            text = "a query over several inputs reads each of them whole"
            return step.node.problem(text, remedy="remove the option", option=option)
    return None


def _note(step: Step, option: str, text: str, near: str) -> Problem:
    return step.node.problem(text, option=option, remedy=f"the nearest table is {near}; give full names")
