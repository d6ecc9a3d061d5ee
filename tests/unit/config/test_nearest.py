"""The name that was probably meant."""

from __future__ import annotations

import pytest

from seatunnel_py.config.resolve import nearest

FILES = ("time_format", "file_format_type", "path", "Field_Delimiter")


@pytest.mark.parametrize(
    ("name", "names", "found"),
    [
        ("file_format", FILES, "file_format_type"),
        ("field", FILES, "Field_Delimiter"),
        ("time_formt", FILES, "time_format"),
        ("zzz", FILES, ""),
        ("", FILES, ""),
        ("table", ("table_path", "table_list", "tables"), "tables"),
        ("a.b", ("axb_c", "a.b_c"), "a.b_c"),
    ],
)
def test_the_first_words_count_more_than_letters(name: str, names: tuple[str, ...], found: str) -> None:
    assert nearest(name, names) == found
