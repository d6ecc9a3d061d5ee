"""Replace, Split, RegexExtract, and Java's regular expressions behind them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from transform_cases import make, one, rows, table, values

from seatunnel_plugins.transforms.columns.regex_extract import RegexExtractFactory
from seatunnel_plugins.transforms.columns.replace_text import ReplaceFactory
from seatunnel_plugins.transforms.columns.split import SplitFactory
from seatunnel_py.api.text.java_regex import JavaPattern, filled, java_replacement, re2_rewrite

TEXT = table(s="string", n="int")


def replaced(texts: list[str | None], **options: Any) -> list[str | None]:
    transform = make(ReplaceFactory, TEXT, replace_field="s", **options)
    return values(one(transform, rows(TEXT, *((text, 1) for text in texts))), "s")


@pytest.mark.parametrize("options", [{"pattern": "a"}, {"pattern": "[a]", "is_regex": True}])
def test_several_fields_at_once(options: dict[str, Any]) -> None:
    several = table(s="string", n="int", t="string")
    transform = make(ReplaceFactory, several, replace_field=["s", "t"], replacement="b", **options)

    found = one(transform, rows(several, ("a", 1, "aa"), ("x", 2, None)))

    assert (values(found, "s"), values(found, "n"), values(found, "t")) == (["b", "x"], [1, 2], ["bb", None])


@pytest.mark.parametrize(
    ("pattern", "replacement", "options", "before", "after"),
    [
        (" ", "_", {}, "a b c", "a_b_c"),
        (".", "-", {}, "a.b", "a-b"),
        (".", "$1", {"replace_first": True}, "a.b.c", "a$1b$1c"),
        ("", "-", {}, "ab", "-a-b-"),
        (".+", "b", {"is_regex": True, "replace_first": True}, "xyz", "b"),
        ("a", "b", {"is_regex": True, "replace_first": True}, "aaa", "baa"),
        ("(\\w+)@(\\w+)", "$2 at $1", {"is_regex": True}, "me@home", "home at me"),
        ("(?<user>\\w+)@", "${user}#", {"is_regex": True}, "me@home", "me#home"),
        ("(a)(b)?", "[$1$2]", {"is_regex": True}, "ab a", "[ab] [a]"),
        ("a", "\\$1\\\\", {"is_regex": True}, "a", "$1\\"),
        ("(a)", "$10", {"is_regex": True}, "a", "a0"),
        ("x*", "-", {"is_regex": True}, "abc", "-a-b-c-"),
        ("(?<=a)b", "X", {"is_regex": True}, "ab cb", "aX cb"),
        ("(a)\\1", "X", {"is_regex": True}, "aab", "Xb"),
        ("^b", "X", {"is_regex": True}, "a\nb", "a\nb"),
        ("a$", "X", {"is_regex": True}, "a\n", "X\n"),
        ("\\d", "#", {"is_regex": True}, "1٣", "#٣"),
        ("\\p{Alpha}[\\p{Digit}_]", "X", {"is_regex": True}, "a1b_c", "XXc"),
        ("\\Q.*\\E", "X", {"is_regex": True}, "a.*b", "aXb"),
        ("\\p{IsHan}+", "X", {"is_regex": True}, "a漢字b", "aXb"),
        ("(?i)ABC", "X", {"is_regex": True}, "abc", "X"),
    ],
)
def test_replace_as_java_does(pattern: str, replacement: str, options: dict[str, Any], before: str, after: str) -> None:
    texts = [before, None, before]

    assert replaced(texts, pattern=pattern, replacement=replacement, **options) == [after, None, after]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"replace_field": "t", "pattern": "a", "replacement": "b"}, "no field 't'"),
        ({"replace_field": "n", "pattern": "a", "replacement": "b"}, "'n' is a int; only text"),
        ({"replace_field": "s", "pattern": "(", "replacement": "b", "is_regex": True}, "not a regular expression"),
        ({"replace_field": "s", "pattern": "a", "replacement": "$1", "is_regex": True}, "has 0 groups, not 1"),
        ({"replace_field": "s", "pattern": "a", "replacement": "${x}", "is_regex": True}, "no group 'x'"),
        ({"replace_field": "s", "pattern": "a", "replacement": "5$", "is_regex": True}, "write \\$"),
        ({"replace_field": "s", "pattern": "[a&&b]", "replacement": "", "is_regex": True}, "intersection"),
        ({"replace_field": "s", "pattern": "\\p{IsGreek}", "replacement": "", "is_regex": True}, "IsGreek"),
    ],
)
def test_replace_refuses(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError) as caught:
        make(ReplaceFactory, TEXT, **options)

    assert words in str(caught.value)


def test_a_hyphen_behind_a_class_is_itself() -> None:
    """Java's patterns for addresses have it; Python takes it for a range that cannot be."""
    find = JavaPattern("^[\\w-\\.]+@([\\w-]+\\.)+[\\w-]{2,4}$", "pattern").python

    assert find.match("ann-lee.x@mail.example.com")
    assert not find.match("ann lee@example.com")
    assert JavaPattern("[\\d-z]", "pattern").python.findall("1-az") == ["1", "-", "z"]


PATTERNS = ["a+", "(a)(b|c)", "[^a-b]", "b|ab", "(?:ab)+c?", "\\bab", "a{2,3}", "(a|ab)(c|bcd)", "[.]"]


@given(st.sampled_from(PATTERNS), st.lists(st.text("abcd. é", max_size=8), max_size=5))
def test_both_engines_replace_alike(pattern: str, texts: list[str]) -> None:
    """The fast engine is a shortcut: nobody may notice which one ran."""
    compiled = JavaPattern(pattern, "pattern")
    pieces = java_replacement("<$0>" if compiled.python.groups == 0 else "<$1>", compiled.python, "replacement")
    transform = make(
        ReplaceFactory,
        TEXT,
        replace_field="s",
        pattern=pattern,
        replacement="<$0>" if compiled.python.groups == 0 else "<$1>",
        is_regex=True,
    )

    assert compiled.re2(pa.array(texts, pa.string())) is not None
    assert re2_rewrite(pieces) is not None
    assert values(one(transform, rows(TEXT, *((text, 1) for text in texts))), "s") == [
        compiled.python.sub(lambda match: filled(pieces, match), text) for text in texts
    ]


# ---------------------------------------------------------------- Split


def split(texts: list[str | None], separator: str, *fields: str) -> list[Any]:
    transform = make(SplitFactory, TEXT, split_field="s", separator=separator, output_fields=list(fields))
    return values(one(transform, rows(TEXT, *((text, 1) for text in texts))), *fields)


@pytest.mark.parametrize(
    ("separator", "text", "parts"),
    [
        (",", "1,2,3", ("1", "2,3")),
        (",", "1", ("1", None)),
        (",", "", ("", None)),
        (",", "1,", ("1", "")),
        (",", ",", ("", "")),
        (",", None, (None, None)),
        ("\\|", "a|b", ("a", "b")),
        ("|", "ab", ("a", "b")),
        (".", "ab", ("", "b")),
        ("[,;]\\s*", "a; b", ("a", "b")),
        ("(,)", "a,b", ("a", "b")),
        ("(?=b)", "abc", ("a", "bc")),
        ("(?=a)", "abc", ("abc", None)),
        ("\\s+", "a\n b", ("a", "b")),
        (", ", "é, ü", ("é", "ü")),
    ],
)
def test_split_as_java_does(separator: str, text: str | None, parts: tuple[str | None, ...]) -> None:
    assert split([text, "x", text], separator, "x", "y")[::2] == [parts, parts]


def test_one_output_takes_everything() -> None:
    assert split(["a,b", None], ",", "x") == ["a,b", None]


@given(st.lists(st.none() | st.text("ab,;", max_size=6), max_size=6), st.sampled_from([",", "[,;]", ",+"]))
def test_split_keeps_every_row_and_loses_no_text(texts: list[str | None], separator: str) -> None:
    for text, parts in zip(texts, split(texts, separator, "x", "y", "z"), strict=True):
        present = [part for part in parts if part is not None]
        assert (text is None) == (not present)
        if separator == ",":
            assert text is None or ",".join(present) == text


def test_the_source_stays_and_outputs_may_replace_columns() -> None:
    found = one(
        make(SplitFactory, TEXT, split_field="s", separator=",", output_fields=["n", "m"]), rows(TEXT, ("a,b", 1))
    )

    assert found.data.schema.names == ["s", "n", "m"]
    assert values(found) == [("a,b", "a", "b")]


@pytest.mark.parametrize(
    ("dtype", "value", "separator", "parts"),
    [
        ("int", 2147, "1", ("2", "47")),
        ("double", 1.5, "\\.", ("1", "5")),
        ("timestamp", datetime(2024, 1, 2, 3, 4), "T", ("2024-01-02", "03:04")),  # noqa: DTZ001 - no zone
        ("boolean", True, "u", ("tr", "e")),
    ],
)
def test_any_single_value_is_split_as_its_text(dtype: str, value: Any, separator: str, parts: Any) -> None:
    schema = table(v=dtype)
    transform = make(SplitFactory, schema, split_field="v", separator=separator, output_fields=["x", "y"])

    assert values(one(transform, rows(schema, (value,), (None,))), "x", "y") == [parts, (None, None)]


def test_containers_are_not_split() -> None:
    with pytest.raises(ValueError, match="only single values"):
        make(SplitFactory, table(a="array<int>"), split_field="a", separator=",", output_fields=["x"])


# ---------------------------------------------------------------- RegexExtract


def test_groups_become_columns() -> None:
    transform = make(
        RegexExtractFactory,
        TEXT,
        source_field="s",
        regex_pattern="([^@]+)@([^.]+)\\.(.+)?",
        output_fields=["user", "domain", "top"],
        default_values=["unknown", None, "none"],
    )

    found = one(transform, rows(TEXT, ("me@home.org", 1), ("me@home.", 1), ("nothing", 1), (None, 1)))

    assert values(found, "user", "domain", "top") == [
        ("me", "home", "org"),
        ("me", "home", None),
        ("unknown", None, "none"),
        ("unknown", None, "none"),
    ]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"output_fields": ["x"], "regex_pattern": "a"}, "names 1 fields, but the groups are 0"),
        ({"output_fields": ["x"], "regex_pattern": "(a)", "default_values": ["1", "2"]}, "default_values are 2"),
    ],
)
def test_groups_and_fields_must_agree(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match="output_fields") as caught:
        make(RegexExtractFactory, TEXT, source_field="s", **options)

    assert words in str(caught.value)
