"""What expressions mean: as HOCON says, checked against the library's own resolver where both define it."""

from __future__ import annotations

from typing import Any

import hocon
import pytest
from hocon.value import HoconArray, HoconObject
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from seatunnel_py.config.evaluate import Evaluation
from seatunnel_py.config.guard import DEFAULT_LIMITS
from seatunnel_py.config.hocon import ObjectExpression, read
from seatunnel_py.config.includes import Includes
from seatunnel_py.config.tree import SourcePlace
from seatunnel_py.config.variables import Variables
from seatunnel_py.errors import JobFileError


def _meaning(text: str, **environment: str) -> dict[str, Any]:
    load = Includes(None, "job.conf", DEFAULT_LIMITS).load
    evaluation = Evaluation(Variables({}, environment), load, SourcePlace("job.conf", 1, 1))
    block = read(text, "job.conf")
    assert isinstance(block, ObjectExpression)
    evaluation.add(block)
    nodes = {name: evaluation.at(name) for name in evaluation.names()}
    return {name: node.plain() for name, node in nodes.items() if node is not None}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a { x = 1 }\na { y = 2 }", {"a": {"x": 1, "y": 2}}),
        ("a { x = 1 }\na = 2\na { y = 3 }", {"a": {"y": 3}}),
        ("a { x { x = 1 } }\na { x = 1, x.z = 2 }", {"a": {"x": 1, "x.z": 2}}),
        ("a { x { x = 1 } }\na { x = 1, x = {} }", {"a": {"x": {}}}),
        ("a = ${b}\nb = 1\nb = 2", {"a": 2, "b": 2}),
        ("a = [1]\na += 2\na = ${a} [3]", {"a": [1, 2, 3]}),
        ("a = ${b} { y = 2 }\nb { x = 1, y = 1 }", {"a": {"x": 1, "y": 2}, "b": {"x": 1, "y": 1}}),
        ("a { x = ${a.y}, y = ${a.z}, z = 5 }", {"a": {"x": 5, "y": 5, "z": 5}}),
        ("a = ${b}\na { x = ${a.y} }\nb { y = 7 }", {"a": {"y": 7, "x": 7}, "b": {"y": 7}}),
        ("P = ${P}':/more'".replace("'", '"'), {"P": "/bin:/more"}),
        ("a = 1 ${?none} two", {"a": "1  two"}),
        ("a = [1, ${?none}, 2]", {"a": [1, 2]}),
        ("a = 007, b = 1.10, c = 1e3, d = -5", {"a": 7, "b": 1.1, "c": 1000.0, "d": -5}),
        ("include.schema.changes = true", {"include": {"schema": {"changes": True}}}),
        ('a = """x "y" ${P}"""', {"a": 'x "y" /bin'}),
    ],
)
def test_meaning(text: str, expected: dict[str, Any]) -> None:
    """Merging, references, self-reference, concatenation, text of numbers."""
    assert _meaning(text, P="/bin") == expected


def test_numbers_print_as_they_were_written() -> None:
    """An option that turns out to be text gets what stands in the file, in any process."""
    import pickle

    number = _meaning("a = 1.10")["a"]

    assert (number, str(number), str(pickle.loads(pickle.dumps(number)))) == (1.1, "1.10", "1.10")
    assert str(_meaning("a = 007")["a"]) == "007"


SCALARS = st.sampled_from(["1", "-3", "true", "null", "foo", '"q r"', "1.50", "007", "x y", '"""t"q"""', "/p/q"])


def _lists(items: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(items, max_size=3).map(lambda parts: "[" + ", ".join(parts) + "]")


def _objects(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """The library forgets, in a second object, that a name was something else between two objects: none is both."""
    entry = st.tuples(st.sampled_from(["x", "y", "x.z", '"x.y"']), values)
    entries = st.lists(entry, max_size=3).filter(_of_one_kind)
    return entries.map(lambda pairs: "{" + ", ".join(f"{name} = {value}" for name, value in pairs) + "}")


def _of_one_kind(entries: list[tuple[str, str]]) -> bool:
    """Whether no name has an object as well as another value."""
    objects = {name for name, value in entries if value.startswith("{")} | {"x" for name, _ in entries if name == "x.z"}
    return objects.isdisjoint(name for name, value in entries if not value.startswith("{"))


PLAIN = st.recursive(SCALARS, lambda inner: _lists(inner) | _objects(inner), max_leaves=6)
# Each name has one kind of value: documents that mix kinds are refused by either side, each in its own way.
TEXT = st.lists(SCALARS | st.sampled_from(["${t1}", "${o1.n}", "${?none}"]), min_size=1, max_size=3).map(" ".join)
LIST = st.lists(_lists(PLAIN) | st.just("${l1}"), min_size=1, max_size=3).map(" ".join)
OBJECT = st.lists(_objects(PLAIN) | st.just("${o1}"), min_size=1, max_size=3).map(" ".join)
FIELDS = st.one_of(
    TEXT.map("t2 = {}".format),
    LIST.map("l2 = {}".format),
    LIST.map("l2 = ${{?l2}} {}".format),
    PLAIN.map("l2 += {}".format),
    _objects(PLAIN).map("o2 = {}".format),
    _objects(PLAIN).map("o2.deep = {}".format),
)


@settings(max_examples=100, deadline=None)
@given(st.lists(FIELDS, min_size=1, max_size=6), OBJECT)
def test_agrees_with_the_library(fields: list[str], joined: str) -> None:
    """The same documents are read, and mean the same."""
    # The library forgets an earlier value after two undefined references; the specification keeps it.
    assume(fields.count("t2 = ${?none}") < 2)
    text = "\n".join(["t1 = abc", "l1 = [1, {a = b}]", "o1 { m { k = v }, n = 5 }", *fields, f"o3 = {joined}"])
    meaning = _meaning(text)
    assume(not _holds(meaning, "x.z"))  # what is told apart on purpose: see the test below

    assert _spelt(meaning) == _of_library(hocon.parse(text, env={})._root)


def _holds(value: Any, name: str) -> bool:
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    return (isinstance(value, dict) and name in value) or any(_holds(one, name) for one in inner)


@pytest.mark.parametrize(
    "text",
    [
        "mode = offsets\nmode.offsets { a-0 = 7 }",
        "mode.offsets { a-0 = 7 }\nmode = offsets",
        'mode = offsets\n"mode.offsets" { a-0 = 7 }',
        "mode = other\nmode.offsets { a-0 = 1 }\nmode = offsets\nmode.offsets { a-0 = 7 }",
        "mode = off${s}\nmode.offsets { a-0 = 7 }",
        "mode.offsets { a-0 = 7 }\nmode = off${s}",
    ],
)
def test_an_option_whose_name_begins_with_another_ones_does_not_replace_it(text: str) -> None:
    """``start_mode`` and ``start_mode.offsets`` of Kafka: by HOCON's rules only the later one would be left."""
    assert _meaning(text, s="sets") == {"mode": "offsets", "mode.offsets": {"a-0": 7}}


def test_where_a_variable_hides_the_conflict_nothing_is_lost() -> None:
    with pytest.raises(JobFileError, match="would replace an option that it begins with"):
        _meaning("mode = ${m}\nmode.offsets { a-0 = 7 }", m="offsets")

    quoted = _meaning('mode = ${m}\n"mode.offsets" { a-0 = 7 }', m="offsets")
    assert quoted == {"mode": "offsets", "mode.offsets": {"a-0": 7}}


def test_an_object_in_braces_and_a_value_replace_each_other() -> None:
    assert _meaning("a { b = 1 }\na = 2") == {"a": 2}
    assert _meaning("a = 2\na { b = 1 }") == {"a": {"b": 1}}


def _of_library(value: Any) -> Any:
    if isinstance(value, HoconObject):
        return {name: _of_library(child) for name, child in value.fields.items()}
    if isinstance(value, HoconArray):
        return [_of_library(item) for item in value.items]
    return None if value.value_type == "null" else value.raw


def _spelt(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _spelt(child) for name, child in value.items()}
    if isinstance(value, list):
        return [_spelt(item) for item in value]
    if isinstance(value, bool):
        return str(value).lower()
    return None if value is None else str(value)


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("a = {\n  b = 1\n", 1, 5),
        ("a = {\n  b = [1 }\n", 2, 10),
        ('a = 1\nb = "x', 2, 5),
        ("a = 1\n  b ~ = @", 2, 9),
        ("a = [1] x", 1, 9),
        ("a = ${a}", 1, 5),
    ],
)
def test_errors_have_their_place(text: str, line: int, column: int) -> None:
    """Of the parser and of evaluation alike."""
    with pytest.raises(JobFileError) as caught:
        _meaning(text)

    assert (caught.value.problems[0].line, caught.value.problems[0].column) == (line, column)
