"""FieldEncrypt: what is encrypted comes back, with this key only."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from transform_cases import applied, make, one, rows, table, values

from seatunnel_plugins.transforms.columns.field_encrypt import FieldEncryptFactory
from seatunnel_py.api import Determinism, FatalError

TEXT = table(id="int", s="string")
KEY = "base64:" + base64.b64encode(b"k" * 16).decode()
GIVEN = [(1, "secret"), (2, None), (3, " "), (4, "ü" * 100), (5, "secret")]


def transform(mode: str, key: str = KEY, **more: Any) -> Any:
    return make(FieldEncryptFactory, TEXT, fields=["s"], key=key, mode=mode, **more)


def test_text_comes_back() -> None:
    encrypted = one(transform("encrypt"), rows(TEXT, *GIVEN))
    decrypted = one(transform("DECRYPT"), encrypted)

    assert values(decrypted) == GIVEN
    hidden = values(encrypted, "s")
    assert hidden[1:3] == [None, " "]
    assert hidden[0] != hidden[4]
    assert "secret" not in str(hidden)


def test_the_format_is_the_vector_then_pkcs_padded_cbc() -> None:
    """As openssl made it: enc -aes-128-cbc with the vector 00 01 … 0f, which stands in front."""
    made_elsewhere = "AAECAwQFBgcICQoLDA0OD1LcoXYRVw6t0RuOK6H1dds="

    assert values(one(transform("DECRYPT"), rows(TEXT, (1, made_elsewhere))), "s") == ["hello, wörld"]


@pytest.mark.parametrize("content", ["no base64!", "YWJj", base64.b64encode(b"0" * 33).decode()])
def test_what_was_not_encrypted_is_an_error(content: str) -> None:
    with pytest.raises(FatalError, match=r"table db\.t: field 's' holds a text that cannot be decrypted"):
        applied(transform("DECRYPT"), rows(TEXT, (1, content)))


def test_long_texts_are_refused() -> None:
    with pytest.raises(FatalError, match="a text of 100 characters"):
        applied(transform("ENCRYPT", max_field_length=99), rows(TEXT, *GIVEN))


def test_the_key_is_never_shown() -> None:
    made = transform("ENCRYPT")

    assert base64.b64encode(b"k" * 16).decode() not in repr(made)
    assert FieldEncryptFactory().capabilities(made.options).determinism is Determinism.INDETERMINATE


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"fields": ["s"], "key": "base64:AAAA"}, "3 bytes; AES takes 16, 24 or 32"),
        ({"fields": ["s"], "key": "???"}, "not base64"),
        ({"fields": ["id"], "key": KEY}, "'id' is a int; only text"),
        ({"fields": ["t"], "key": KEY}, "no field 't'"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError) as caught:
        make(FieldEncryptFactory, TEXT, **options)

    assert words in str(caught.value)
