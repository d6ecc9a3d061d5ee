"""``where_condition`` is one condition: anything else is refused by its name, before a server is asked."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from seatunnel_connectors.jdbc.source.condition import condition_of
from tests.unit.connectors.jdbc.test_options import source


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("where id > 1", "id > 1"),
        (" WHERE\n\tid > 1 ; ", "id > 1"),
        ("where id > 1; -- all of them", "id > 1"),
        ("where id > 1 -- the first; order by", "id > 1 -- the first; order by"),
        ("where(a = 1) or (b = 2)", "(a = 1) or (b = 2)"),
        ("where s = ';' and t = 'it''s) order by'", "s = ';' and t = 'it''s) order by'"),
        (r"where s = 'it\'s; limit 1'", r"s = 'it\'s; limit 1'"),
        (r"where s = 'c:\' and t = ';'", r"s = 'c:\' and t = ';'"),
        ("where s = $x$'; limit 1$x$", "s = $x$'; limit 1$x$"),
        ('where t."order by" = 1 and t.limit > 5 and `a;b` = 2', 't."order by" = 1 and t.limit > 5 and `a;b` = 2'),
        ("where id in (select id from o order by x limit 3)", "id in (select id from o order by x limit 3)"),
        ("where /* ; limit 1 */ id > 1", "/* ; limit 1 */ id > 1"),
        ("where substring(s from 1 for 2) = 'ab' and having_x = 1", "substring(s from 1 for 2) = 'ab' and having_x = 1"),
    ],
)  # fmt: skip
def test_a_condition_is_what_it_says(text: str, condition: str) -> None:
    assert condition_of(text) == condition


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty; leave it out"),
        ("  ", "is empty; leave it out"),
        ("where ", "is empty after 'where'"),
        ("where;", "is empty after 'where'"),
        ("where -- id > 1", "is empty after 'where'"),
        ("whereas id > 1", "must begin with 'where'"),
        ("where id > 1 order  by id", "holds ORDER BY, .*`query`"),
        ("where id > 1 LIMIT 55", "holds LIMIT 55, .*`query`"),
        ("where id > 1 offset 5", "holds OFFSET 5"),
        ("where id > 1 fetch first 2 rows only", "holds FETCH FIRST"),
        ("where id > 1 group by id", "holds GROUP BY"),
        ("where id > 1 union select 1", "holds UNION"),
        ("where id > 1 for update", "holds FOR UPDATE"),
        ("where id > 1; drop table t", "a second statement after its semicolon: 'drop table t'"),
        ("where id = 1) or (id = 2", "a closing parenthesis that nothing opens"),
        ("where (id = 1", "a parenthesis that nothing closes"),
        ("where s = 'x", "has a ' that nothing closes"),
        ("where id > 1 /* and", "has a /[*] that nothing closes"),
    ],
)
def test_what_is_none_is_refused_by_check(text: str, words: str) -> None:
    for options in (
        {"table_path": "t", "where_condition": text},
        {"table_list": [{"table_path": "t", "where_condition": text}]},
    ):
        with pytest.raises(ValidationError, match=f"(?s)where_condition.*{words}"):
            source(**options)
