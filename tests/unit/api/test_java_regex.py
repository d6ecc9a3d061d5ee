"""One pattern means the same over names of files and tables and over values, and it means what Java says (java.util.regex)."""

from __future__ import annotations

import re

import pytest

from seatunnel_py.api.text.java_regex import JavaPattern, NamePattern

MEANINGS = [
    (r"\p{Alpha}+\.csv", "orders.csv", "0rders.csv"),
    (r"\Qa.b\E.*", "a.b.csv", "axb.csv"),
    (r"(?<year>\d{4})-\k<year>", "2024-2024", "2024-2025"),
    (r"\w+", "region", "Région"),
    (r"\d+", "42", "٤٢"),
    (r"[\w-.]+", "a-b.c", "a b"),
    (r"orders\h\d", "orders 1", "orders\n1"),
    (r"(?i:ORDERS)", "orders", "users"),
    (r"\p{IsHan}+", "漢字", "kanji"),
    (r"orders\z", "orders", "orders\n"),
    (r"x\x41\e?", "xA", "xB"),
]
"""Pattern, a text that it stands for, one that it does not stand for; by Java's documentation."""
REFUSED = [
    (r"[a-z&&[^b]]", "&&|class within"),
    (r"\p{IsGreek}", "IsGreek"),
    ("(", "unterminated"),
    ("a\\", "backslash"),
]


@pytest.mark.parametrize(("pattern", "text", "other"), MEANINGS)
def test_a_pattern_means_the_same_over_names_and_over_values(pattern: str, text: str, other: str) -> None:
    names, values = NamePattern(pattern), JavaPattern(pattern, "pattern")

    assert [names.fullmatch(one) for one in (text, other)] == [True, False]
    assert [values.python.fullmatch(one) is not None for one in (text, other)] == [True, False]


@pytest.mark.parametrize(("pattern", "text", "other"), MEANINGS)
def test_a_repetition_of_it_in_re2_means_the_same(pattern: str, text: str, other: str) -> None:
    """What could take time without end over names runs in RE2; what RE2 lacks is refused there, and never read differently."""
    try:
        names = NamePattern(f"({pattern})+|(_+)+")
    except ValueError as error:
        assert "time without end" in str(error)
    else:
        assert [names.fullmatch(one) for one in (text, other)] == [True, False]


@pytest.mark.parametrize(("pattern", "cause"), REFUSED)
def test_what_is_refused_over_names_is_refused_over_values(pattern: str, cause: str) -> None:
    for made in (lambda: NamePattern(pattern), lambda: JavaPattern(pattern, "pattern")):
        with pytest.raises(ValueError, match=cause) as error:
            made()
        assert re.search("not a regular expression that can be used", str(error.value))


@pytest.mark.parametrize("name", ["a\x0bb", "a b"])
def test_a_vertical_tab_is_a_blank_in_both_engines(name: str) -> None:
    assert NamePattern(r"a\sb").fullmatch(name)
    assert NamePattern(r"(a\s*)+b").fullmatch(name)
    assert NamePattern(r"(a[\s_]*)+b").fullmatch(name)
    assert not NamePattern(r"(a\S*)+b").fullmatch(name)
