"""Variables in quoted texts: defaults that are JSON, and texts that are made to take long."""

from __future__ import annotations

import time

import pytest

from seatunnel_py.api import Options, option
from seatunnel_py.config.variables import Variables, references

SEEN = Variables({"given": "v", "j": '{"a": 1}'}, {})


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("${given} ${j}", 'v {"a": 1}'),
        ('${x:{"a":"1"}}', '{"a":"1"}'),
        ('${x:[{"a":{"b":"^y$"}},{"c":2}]}-${given}', '[{"a":{"b":"^y$"}},{"c":2}]-v'),
        ("${x:{}", "{"),  # not in balance: up to the first brace, as ever
        ("${x:}|${x}|${table_name:t}", "|${x}|${table_name:t}"),
        ("${x:${given}}", "${given}"),  # what a default holds is not looked at again
    ],
)
def test_a_default_may_be_json(text: str, filled: str) -> None:
    """SeaTunnel's job files give whole table lists so."""
    assert SEEN.substitute(text) == filled


@pytest.mark.parametrize("text", ["${a:", "${a:{", "${a:$", "${a", "${a:{}"])
def test_no_text_takes_long(text: str) -> None:
    """Each ``${`` that never ends would be looked for to the end of the text."""
    began = time.process_time()
    for ending in ("", "}", "}" * 9):
        SEEN.substitute(text * 20_000 + ending)
        list(references(ending + text * 20_000))

    assert time.process_time() - began < 1


class Entry(Options):
    name: str = option()


class Given(Options):
    entries: tuple[Entry, ...] = option(())
    words: tuple[str, ...] = option(())
    map: dict[str, str] = option({})
    text: str = option("")
    either: str | dict[str, str] = option("")


def test_a_text_that_is_json_is_what_it_spells_where_a_list_or_map_is_asked_for() -> None:
    """A variable between quotes is a text; an option that takes texts keeps it."""
    found = Given.model_validate(
        {
            "entries": '[{"name": "a"}, {"name": "b"}]', "words": ' ["x, y", "z"]', "map": '{"k": {"l": true}}',
            "text": "[1]", "either": '{"a": "b"}',
        }
    )  # fmt: skip

    assert found.entries == (Entry(name="a"), Entry(name="b"))
    assert found.words == ("x, y", "z") and found.map == {"k.l": "true"}
    assert found.text == "[1]" and found.either == '{"a": "b"}'


@pytest.mark.parametrize("text", ["[", "{]", "[" * 100_000, "5", ""])
def test_a_text_that_is_no_json_is_no_list_of_maps(text: str) -> None:
    """It is said to be no list."""
    with pytest.raises(ValueError, match="entries"):
        Given.model_validate({"entries": text})
