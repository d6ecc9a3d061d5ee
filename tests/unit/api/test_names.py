"""Names as data: written and read back whole, refused where they lead elsewhere, compared as targets compare them."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatunnel_py.api import TablePath
from seatunnel_py.api.names import NameRules, Naming, check_file_name, filled

NAMES = st.text(min_size=1, max_size=8, alphabet='a.Z"` é$/\\')


@given(st.lists(NAMES, min_size=1, max_size=3))
def test_any_name_comes_back_out_of_a_dotted_path(names: list[str]) -> None:
    """P3-F2, T40: dots and quotes in a name divide nothing."""
    path = TablePath(*([""] * (3 - len(names))), *names)

    assert TablePath.parse(path.full_name, schema_first=True) == path


@given(NAMES, NAMES, NAMES, NAMES)
def test_two_tables_never_have_one_id(a: str, b: str, c: str, d: str) -> None:
    """`a.b` in `c` and `b.c` in `a` are told apart wherever a table's id stands."""
    first, second = TablePath("", a, b), TablePath("", c, d)

    assert (str(first) == str(second)) is (first == second)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('public."dot.ted"', ("", "public", "dot.ted")),
        ("shop.`a.b`", ("", "shop", "a.b")),
        ('ods_"a.b"_x', ("", "", "ods_a.b_x")),
        ('"we""ird"', ("", "", 'we"ird')),
        ("Sales Ops.Région 2024", ("", "Sales Ops", "Région 2024")),
    ],
)
def test_quotes_keep_a_name_together(text: str, names: tuple[str, str, str]) -> None:
    assert TablePath.parse(text, schema_first=True) == TablePath(*names)


@pytest.mark.parametrize("text", ['a."b', "a..b", "", "a.b.c.d", '"a" b".c'])
def test_what_is_no_path_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"table path|not closed"):
        TablePath.parse(text)


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a\\b", "a\0", "a\n", ".seatunnel"])
def test_a_name_that_leads_elsewhere_is_no_part_of_a_path(name: str) -> None:
    """T41."""
    with pytest.raises(ValueError, match="lead to another place"):
        check_file_name(name)
    with pytest.raises(ValueError, match="lead to another place"):
        filled(Naming.DIRECTORY, name)


@pytest.mark.parametrize(
    ("rules", "one", "other"),
    [
        (NameRules(folds_case=True), "Straße", "STRASSE"),
        (NameRules(folds_case=True, ascii_only=True), "Tab", "tAB"),
        (NameRules(normalises=True), "é", unicodedata.normalize("NFD", "é")),
        (NameRules(ignored_at_end=" ."), "a", "a ."),
        (NameRules(default="public"), "", "public"),
    ],
)
def test_what_a_target_takes_for_one_has_one_key(rules: NameRules, one: str, other: str) -> None:
    assert rules.key(one) == rules.key(other)
    assert NameRules().key(one) != NameRules().key(other)
    assert rules.collisions((one, "x", other)) == [(one, other)]


def test_only_ascii_letters_fold_where_the_target_folds_no_others() -> None:
    """SQLite."""
    assert NameRules(folds_case=True, ascii_only=True).collisions(("É", "é")) == []


@pytest.mark.parametrize(("unit", "fits", "long"), [("bytes", "é" * 31, "é" * 32), ("characters", "é" * 63, "é" * 64)])
def test_a_name_is_refused_and_not_cut(unit: str, fits: str, long: str) -> None:
    """T44."""
    rules = NameRules(length_max=63, unit=unit)

    assert rules.problem(fits) == ""
    assert "and the target takes 63" in rules.problem(long)
