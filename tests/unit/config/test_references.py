"""What is stored holds references, and is opened with the values of now (P4-F2)."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from seatunnel_py.config.references import References, all_of, unknown

KNOWN = References({"${env:PW}": "s3cr3t-and-long", "${file:pw.txt}": "pass"})
TEXTS = st.lists(
    st.sampled_from(["s3cr3t-and-long", "pass", "password", "${env:PW}", "${text:", "${", "$", "{", "x", " ", "'", "ü"])
).map("".join)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(PLAIN)
def test_what_is_sealed_is_opened_again(plain: Any) -> None:
    """Also a text that only looks like a reference; a short secret is one as a word of its own."""
    sealed = KNOWN.sealed(plain)

    assert KNOWN.opened(sealed) == plain
    assert "s3cr3t-and-long" not in repr(sealed)


def test_a_value_that_has_changed_is_the_new_one() -> None:
    sealed = KNOWN.sealed({"before": ["CREATE USER u PASSWORD 's3cr3t-and-long'"], "rows": 7})

    assert sealed == {"before": ["CREATE USER u PASSWORD '${env:PW}'"], "rows": 7}
    assert References({"${env:PW}": "rotated"}).opened(sealed) == {
        "before": ["CREATE USER u PASSWORD 'rotated'"], "rows": 7
    }  # fmt: skip
    assert unknown(References().opened(sealed)) == ["${env:PW}"]


def test_a_job_without_references_stores_what_it_was_given() -> None:
    plain = {"a": ["${env:PW}"]}

    assert all_of([References(), References()]).sealed(plain) is plain
