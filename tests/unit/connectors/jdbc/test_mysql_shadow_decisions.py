"""What the names and comments of tables say about a renaming, and who may be the target of one; no server."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatunnel_connectors.jdbc.factory import JdbcSinkFactory
from seatunnel_connectors.jdbc.mysql.write.shadow import (
    COMMENT_MAX,
    ShadowComments,
    ShadowStep,
    following,
    mark_of,
    marked,
    token_in,
    without_mark,
)
from seatunnel_connectors.jdbc.mysql.write.sink import MysqlSink
from seatunnel_connectors.jdbc.statements.load_plan import StatementLoad, load_of
from seatunnel_connectors.jdbc.statements.target_dialect import TargetTable
from seatunnel_connectors.jdbc.target.load_decision import SHADOW
from seatunnel_py.api import (
    Column,
    CommitContext,
    FatalError,
    JobMode,
    JobRegistry,
    PrimaryKey,
    StepContext,
    TablePath,
    TableSchema,
    Visible,
)
from seatunnel_py.api.types import BIGINT, STRING

LOAD = StatementLoad("b", "t", "0123abcd", ("id",), (), False, True, how=SHADOW, staging="t__st_0123abcd")
MARK = mark_of(LOAD, CommitContext("job", "lineage", "sink", 7))
OTHERS = mark_of(replace(LOAD, token="89abcdef"), CommitContext("job", "lineage", "sink", 7))


@pytest.mark.parametrize(
    ("target", "shadow", "replaces", "step"),
    [
        ("old", "", True, ShadowStep.SWAP),
        ("old", MARK, True, ShadowStep.SWAP),
        (f"old {OTHERS}", "", True, ShadowStep.SWAP),
        (None, "", True, ShadowStep.TAKE),
        (None, MARK, False, ShadowStep.TAKE),
        ("somebody's", "", False, ShadowStep.ADD),
        (OTHERS, MARK, False, ShadowStep.ADD),
        (MARK, None, True, ShadowStep.NOTHING),
        (f"old {MARK}", None, False, ShadowStep.NOTHING),
        ("old", None, True, ShadowStep.LOST),
        (OTHERS, None, True, ShadowStep.LOST),
        (None, None, False, ShadowStep.LOST),
    ],
)
def test_names_and_comments_say_what_is_left_to_do(
    target: str | None, shadow: str | None, replaces: bool, step: ShadowStep
) -> None:
    """I31: a shadow that is gone has arrived only where the target says that it was it."""
    assert following(ShadowComments(target, shadow), MARK, replaces=replaces) is step


@pytest.mark.parametrize("comment", ["", "what people read", "x" * COMMENT_MAX, "ends with [seatunnel"])
def test_a_mark_goes_on_and_off_a_comment(comment: str) -> None:
    """What is cut for it comes from the plan again."""
    bearing = marked(comment, MARK)

    assert len(bearing) <= COMMENT_MAX and token_in(bearing) == LOAD.token
    assert comment.startswith(without_mark(bearing)) and without_mark(comment) == comment


# ---------------------------------------------------------------- who may

KEYED = PrimaryKey(("id",), "", True)
TABLE = TableSchema(
    TablePath("a", "", "t"), (Column("id", BIGINT, nullable=False), Column("s", STRING)), KEYED,
    options={"estimated_rows": "600000"}, comment="from upstream",
)  # fmt: skip
NEW = TargetTable("b", "t", exists=False)
THERE = TargetTable("b", "t", True, counted=5, keys=(("id",),), has_books=True, comment="theirs")
EMPTIED = {"data_save_mode": "DROP_DATA"}
RECREATED = {"schema_save_mode": "RECREATE_SCHEMA"}


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch) -> JobRegistry:
    """Of the job that all sinks of a test belong to."""
    monkeypatch.setitem(JOB, "registry", JobRegistry())
    return JOB["registry"]


JOB: dict[str, JobRegistry] = {}


def sink(table: TableSchema = TABLE, *, mode: JobMode = JobMode.BATCH, step: str = "sink", **options: Any) -> MysqlSink:
    factory = JdbcSinkFactory()
    given = {"url": "jdbc:mysql://h/b", "generate_sink_sql": True, "table": "t", "is_exactly_once": True, **options}
    parsed = factory.options.model_validate(given, context={"job_file": True})
    made = factory.create(
        parsed, table, StepContext(step, job_id="j", mode=mode, parallelism=2, registry=JOB["registry"])
    )  # type: ignore[arg-type]
    assert isinstance(made, MysqlSink)
    return made


def with_columns(target: TargetTable) -> TargetTable:
    from seatunnel_connectors.jdbc.target.target_plan import TargetColumn

    columns = {"id": TargetColumn("id", BIGINT, "bigint", False), "s": TargetColumn("s", STRING, "text")}
    return replace(target, columns=columns) if target.exists else target


def planned(target: TargetTable, table: TableSchema = TABLE, **options: Any) -> StatementLoad:
    return load_of(sink(table, **options)._plan(with_columns(target), "").data)


UNPROVED = replace(TABLE, primary_key=PrimaryKey(("id",), "", False))
SMALL, UNKNOWN = (replace(TABLE, options=options) for options in ({"estimated_rows": "9"}, {}))


@pytest.mark.parametrize(
    ("target", "table", "options", "how"),
    [
        (NEW, TABLE, {}, "shadow"),
        (THERE, TABLE, RECREATED, "shadow"),
        (THERE, TABLE, EMPTIED, "shadow"),
        (THERE, TABLE, {}, "staged"),
        (replace(THERE, counted=0), TABLE, EMPTIED, "staged"),
        (replace(THERE, ties=("its trigger x",)), TABLE, EMPTIED, "staged"),
        (NEW, TABLE, {"mode": JobMode.STREAMING}, "staged"),
        (NEW, UNPROVED, {}, "staged"),
        (NEW, UNPROVED, {"create_index": False}, "shadow"),
        (NEW, TABLE, {"primary_keys": ["s"]}, "staged"),
        (NEW, TABLE, {"primary_keys": []}, "shadow"),
        (NEW, UNKNOWN, {}, "staged"),
        (NEW, SMALL, {}, "table"),
        (NEW, TABLE, {"is_exactly_once": False}, "table"),
        (NEW, TABLE, {"data_save_mode": "CUSTOM_PROCESSING", "custom_sql": "x"}, "staged"),
        (NEW, TABLE, {"exactly_once_recipe": "staged"}, "staged"),
        (NEW, TABLE, {"exactly_once_recipe": "direct"}, "table"),
        (NEW, SMALL, {"exactly_once_recipe": "shadow"}, "shadow"),
    ],
)  # fmt: skip
def test_who_is_filled_beside_its_place(
    target: TargetTable, table: TableSchema, options: dict[str, Any], how: str
) -> None:
    """Where it is safe, proved, and saves something; a word of people counts more."""
    assert planned(target, table, **options).how == how


@pytest.mark.parametrize(
    ("target", "table", "options", "words"),
    [
        (THERE, TABLE, {}, "the rows that are in the table stay"),
        (NEW, UNPROVED, {}, r"does not prove that rows differ in \(id\)"),
        (NEW, TABLE, {"mode": JobMode.STREAMING}, "only a job that ends"),
        (replace(THERE, ties=("its trigger x",)), TABLE, EMPTIED, "would lose its trigger x"),
    ],
)
def test_who_asks_for_it_in_vain_is_told_why(
    target: TargetTable, table: TableSchema, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(FatalError, match=f"b.t: exactly_once_recipe = shadow, but .*{words}"):
        planned(target, table, exactly_once_recipe="shadow", **options)


def test_two_sinks_of_a_job_into_one_table_do_not_rename_over_each_other() -> None:
    other = sink(replace(TABLE, path=TablePath("a", "", "u")))
    assert planned(THERE, **EMPTIED).how == "staged"

    del other
    assert planned(THERE, **EMPTIED).how == "shadow"


def test_nothing_is_destroyed_before_the_end_and_the_plan_says_what_is() -> None:
    setup = sink(**EMPTIED)._plan(with_columns(THERE), "")
    load = load_of(setup.data)

    assert setup.visible is Visible.FINAL and load.renew == ()
    assert (load.replaces, load.comment) == ("emptied", "theirs")
    assert [(effect.action, effect.target, effect.destructive) for effect in setup.effects] == [
        ("replace table", "b.t", True)
    ]
    assert setup.effects[0].statement == (
        f"RENAME TABLE `b`.`t` TO `b`.`{load.staging}_old`, `b`.`{load.staging}` TO `b`.`t`"
    )
    recreated = sink(**RECREATED)._plan(with_columns(THERE), "")
    assert [(one.action, one.destructive) for one in recreated.effects] == [
        ("create table", False), ("replace table", True),
    ]  # fmt: skip
    assert load_of(recreated.data).comment == "from upstream"


def test_its_names_fit_however_long_the_target_s_is() -> None:
    load = planned(replace(THERE, table="t" * 64), **EMPTIED)

    assert len(f"{load.staging}_old") <= 64
