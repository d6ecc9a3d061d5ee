"""Option models and their resolution: types, keys, rules, places, nearest names."""

from __future__ import annotations

import warnings
from enum import StrEnum
from typing import Any

import pytest
from pydantic import ValidationError

from seatunnel_py.api.options import (
    Options,
    Secret,
    SinkOptions,
    SourceOptions,
    TransformOptions,
    describe,
    option,
    secret_texts,
)
from seatunnel_py.api.options.rules import at_least_one, at_most_one, exactly_one, required_when, together
from seatunnel_py.config import loads, resolve_step
from seatunnel_py.errors import Problem


class Mode(StrEnum):
    """Any enum of a plugin."""

    READ_ALL = "read-all"
    WRITE = "write"


class Column(Options):
    """An object inside the options."""

    name: str = option()
    kind: str = option("string", key="type.name")


class Sample(SourceOptions):
    """One of each kind."""

    url: str = option(doc="address")
    username: str | None = option(None, fallback=("user",))
    password: Secret | None = option(None)
    size: int = option(10, key="split.size", ge=1)
    ratio: float = option(0.5)
    wide: bool = option(False)
    mode: Mode = option(Mode.READ_ALL)
    names: tuple[str, ...] = option(())
    properties: dict[str, str] = option({}, key="kafka.config")
    columns: tuple[Column, ...] = option(())
    raw: dict[str, Any] = option({})
    query: str | None = option(None)
    table: str | None = option(None)

    rules = (
        together("username", "password"),
        at_most_one("query", "table"),
        required_when("table", other="mode", equals=(Mode.WRITE,)),
    )


def _resolved(options: str, *, strict: bool = True) -> tuple[Sample | None, tuple[Problem, ...], tuple[Problem, ...]]:
    job = loads(f"source {{ S {{\n{options}\n}} }}\nsink {{ B {{}} }}", environment={})
    return resolve_step(job.sources[0], Sample, strict=strict)


def _sample(options: str) -> Sample:
    sample, problems, _ = _resolved("url = u\n" + options)
    assert sample is not None, problems
    return sample


@pytest.mark.parametrize(
    ("written", "attribute", "expected"),
    [
        ("split.size = 3", "size", 3),
        ('"split.size" = "3"', "size", 3),
        ("split { size = 3.0 }", "size", 3),
        ("wide = yes", "wide", True),
        ('wide = "TRUE"', "wide", True),
        ("mode = Write, table = t", "mode", Mode.WRITE),
        ("mode = READ_ALL", "mode", Mode.READ_ALL),
        ("names = a", "names", ("a",)),
        ('names = "a, b"', "names", ("a", "b")),
        ("names = [a, 1.10, true]", "names", ("a", "1.10", "true")),
        ("kafka.config { max.poll = 5, x = true }", "properties", {"max.poll": "5", "x": "true"}),
        ('"kafka.config.max.poll" = 5', "properties", {"max.poll": "5"}),
        ("query = 007", "query", "007"),
        ("query = 1.10", "query", "1.10"),
        ("query = true", "query", "true"),
        ("query = null", "query", None),
        ("result_table_name = t", "plugin_output", "t"),
        ("raw { a.b = 1, c = [true] }", "raw", {"a": {"b": 1}, "c": [True]}),
        ("columns = [ { name = a, type.name = int } ]", "columns", (Column(name="a", kind="int"),)),
    ],
)
def test_values(written: str, attribute: str, expected: object) -> None:
    """However a value is spelt, the option has its declared type."""
    assert getattr(_sample(written), attribute) == expected


@pytest.mark.parametrize(
    ("written", "path", "message", "suggestion"),
    [
        ("urll = x", "urll", "unknown option", "url"),
        ("split.sise = 3", "split.sise", "unknown option", "split.size"),
        ("size = 3", "size", "unknown option", "split.size"),
        ("split.size = 0", "split.size", "must be greater than or equal to 1", ""),
        ("split.size = 1.5", "split.size", "must be a valid integer", ""),
        ("split.size = true", "split.size", "must be a valid integer", ""),
        ('split.size = "' + "9" * 5000 + '"', "split.size", "must be a valid integer|nable to parse", ""),
        ("ratio = NaN", "ratio", "must be a finite number", ""),
        ('ratio = "1e999"', "ratio", "must be a finite number", ""),
        ("mode = wrte", "mode", "must be one of read-all, write", "write"),
        ("username = a", "", "username and password must be given together", ""),
        ("query = a, table = b", "", "only one of query or table may be given", ""),
        ("mode = write", "", "table is required when mode is write", ""),
        ("user = a, username = b, password = c", "username", "says the same as", ""),
        ("columns = [\n{ name = a },\n{ nam = b }\n]", "columns[1].nam", "unknown option", "name"),
        ("columns = [\n{ name = a },\n{ type.name = b }\n]", "columns[1].name", "required option is missing", ""),
        ("url = [1]", "url", "must be a valid string", ""),
    ],
)
def test_problems(written: str, path: str, message: str, suggestion: str) -> None:
    """Each names its option, and the nearest valid name."""
    import re

    _, problems, _ = _resolved("url = u\n" + written)

    whole = "source[0].S" + (f".{path}" if path else "")
    matching = [problem for problem in problems if problem.path == whole and re.search(message, problem.message)]
    assert len(matching) == 1, problems
    assert matching[0].suggestion == suggestion
    assert matching[0].line >= 1 if not path else matching[0].line >= 3


def test_all_problems_of_a_step_at_once_with_their_lines() -> None:
    """Missing, unknown, bad and contradictory ones together; bad fields do not hide broken rules."""
    _, problems, _ = _resolved("zzz = x\nsplit.size = many\nusername = a\ncolumns = [\n  { name = a, x = 1 }\n]")

    assert {(problem.path.removeprefix("source[0].S"), problem.line) for problem in problems} == {
        ("", 1),
        (".url", 1),
        (".zzz", 2),
        (".split.size", 3),
        (".columns[0].x", 6),
    }


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ("username = a, pasword = b", {"unknown option"}),
        ("mode = write, tabel = t", {"unknown option"}),
        ("username = a, zzz = b", {"unknown option", "username and password must be given together"}),
        ("query = a, table = b, usrname = c", {"unknown option", "only one of query or table may be given"}),
    ],
)
def test_a_misspelt_option_is_not_told_as_missing_too(written: str, wanted: set[str]) -> None:
    """One cause, one message; a rule that the option would not mend is still told."""
    _, problems, _ = _resolved("url = u\n" + written)
    assert {problem.message for problem in problems} == wanted


def test_a_list_that_is_none_is_called_a_list() -> None:
    """A job file knows lists, whatever Python keeps them in."""
    _, problems, _ = _resolved("url = u\ncolumns = { name = a }")
    assert [problem.message for problem in problems] == ["must be a list"]


def test_without_strict_unknown_keys_are_notes() -> None:
    """At every level, and the rest is still checked."""
    sample, problems, notes = _resolved("url = u\nnonsense = 1\ncolumns = [ { name = a, x { y = 1 } } ]", strict=False)

    assert sample is not None and not problems
    assert [note.path for note in notes] == ["source[0].S.nonsense", "source[0].S.columns[0].x"]


def test_a_map_may_be_written_in_pieces() -> None:
    """With dots and with braces, one beside the other, at any depth."""
    sample, problems, _ = _resolved('url = u\n"kafka.config.a" = 1\nkafka { config { b { c = 2 }, d = 3 } }')

    assert not problems and sample is not None
    assert sample.properties == {"a": "1", "b.c": "2", "d": "3"}


@pytest.mark.parametrize(
    ("written", "noted"),
    [
        ("${tab}", "${tab}"),
        ("a_${table_nam}", "${table_nam}"),
        ("${table_name}_${tab:x}", ""),
        ("${1}", ""),
        ("${env:TAB}", ""),
    ],
)
def test_a_variable_without_value_is_noted(written: str, noted: str) -> None:
    """It may be a slip, but SeaTunnel's files rely on it; a placeholder that was nearly hit is suggested."""
    _, _, notes = _resolved(f'url = "{written}"')

    assert [note.message for note in notes] == ([f"{noted} has no value and stays as it is written"] if noted else [])
    assert [note.suggestion for note in notes] == (["table_name"] if "nam" in noted else [""] if noted else [])


def test_a_secret_is_not_looked_through_for_variables() -> None:
    """What is between braces may be a part of it."""
    _, _, notes = _resolved('url = u\npassword = "a${tab}b"\nmore { secret_key = "${tab}" }', strict=False)

    assert not [note for note in notes if "tab" in note.message]


def test_older_names_are_noted_with_their_place() -> None:
    """They work, silently for the run."""
    _, problems, notes = _resolved("url = u\nuser = a\npassword = b")

    assert not problems
    assert [(note.path, note.line, note.suggestion) for note in notes] == [("source[0].S.user", 3, "username")]


def test_attribute_names_are_python_s_only() -> None:
    """A plugin's test may build options by attribute; a job file has keys."""
    assert Sample(url="u", size=3).size == 3
    with pytest.raises(ValidationError):
        Sample(url="u", siez=3)  # type: ignore[call-arg]


def test_models_are_frozen_and_silent_about_values() -> None:
    """No value in the text of an error, no secret in a repr."""
    sample = Sample(url="u", username="a", password="hunter2")  # type: ignore[arg-type]

    assert "hunter2" not in repr(sample) + str(sample)
    with pytest.raises(ValidationError):
        sample.url = "x"  # type: ignore[misc]
    with pytest.raises(ValidationError) as caught:
        Sample(url="u", ratio="hunter2")  # type: ignore[arg-type]
    assert "hunter2" not in str(caught.value)


class Choices(Options):
    """Every rule of counting."""

    a: int | None = option(None)
    b: int | None = option(None)
    c: int | None = option(None)


@pytest.mark.parametrize(
    ("rule", "right"),
    [(exactly_one, {1}), (at_most_one, {0, 1}), (at_least_one, {1, 2, 3}), (together, {0, 3})],
)
def test_counting_rules(rule: Any, right: set[int]) -> None:
    """A rule holds for exactly the counts that it says."""
    model = type("Ruled", (Choices,), {"rules": (rule("a", "b", "c"),), "__module__": __name__})

    held = set()
    for count in range(4):
        try:
            model.model_validate(dict.fromkeys("abc"[:count], 1))
        except ValidationError:
            continue
        held.add(count)
    assert held == right


def test_description_of_options() -> None:
    """What the documentation shows comes from the declaration."""
    infos = {info.name: info for info in describe(Sample)}

    assert (infos["url"].required, infos["url"].type, infos["url"].doc) == (True, "string", "address")
    assert (infos["size"].key, infos["size"].type, infos["size"].default) == ("split.size", "int", "10")
    assert infos["password"].secret and infos["password"].default == ""
    assert infos["mode"].choices == ("read-all", "write")
    assert infos["columns"].type == "list of object"
    assert infos["username"].fallback == ("user",)


@pytest.mark.parametrize("model", [SourceOptions, TransformOptions, SinkOptions])
def test_common_options_are_documented(model: type[Options]) -> None:
    """Every one says what it is for."""
    assert all(info.doc for info in describe(model))


def test_a_misspelt_required_option_is_one_problem() -> None:
    """P2, smaller: it was reported as missing and as unknown, at every level."""
    job = loads("source { S {\nurll = u, columns = [ { nam = a } ]\n} }\nsink { B {} }", environment={})

    _, problems, _ = resolve_step(job.sources[0], Sample)

    assert [(problem.path, problem.suggestion) for problem in problems] == [
        ("source[0].S.urll", "url"),
        ("source[0].S.columns[0].nam", "name"),
    ]


@pytest.mark.parametrize("name", ["keys", "values", "items", "copy", "dict", "json", "schema", "validate", "construct"])
def test_options_may_have_the_names_of_pydantic_s_older_methods(name: str) -> None:
    """P2-F2: `keys` is SeaTunnel's own name of a Redis option, and stopped every command with a TypeError."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = type("Named", (SourceOptions,), {"__annotations__": {name: Secret}, name: option(), "__module__": "m"})
    job = loads(f"source {{ S {{ {name} = hidden }} }}\nsink {{ B {{}} }}", environment={})

    options, problems, _ = resolve_step(job.sources[0], model)

    assert not problems
    assert getattr(options, name).get_secret_value() == "hidden"
    assert secret_texts(options) == {"hidden"}
    assert "hidden" not in repr(options)


@pytest.mark.parametrize("name", ["rules", "model_fields", "model_copy", "model_dump", "model_extra"])
def test_an_option_with_a_name_that_the_model_needs_is_refused_where_it_is_declared(name: str) -> None:
    """P2-F2: class and field are named when the module is imported, not by a command that reads a job file."""
    with pytest.raises((TypeError, ValueError), match=name), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        type("Named", (SourceOptions,), {"__annotations__": {name: str}, name: option(), "__module__": "m"})


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ((together("hosts", "port"),), "Named.rules: there is no option 'hosts'; did you mean 'host'?"),
        ((required_when("port", other="mode", equals=("x",)),), "Named.rules: there is no option 'mode'"),
        (together("host", "port"), "Named.rules has to be a tuple of rules"),
    ],
)
def test_a_rule_about_an_option_that_is_not_there_is_refused_where_it_is_declared(rules: object, said: str) -> None:
    """P2-F2: it was a KeyError of `_broken_rules` in every command."""
    with pytest.raises(TypeError) as refused:

        class Named(SourceOptions):
            host: str | None = option(None)
            port: int | None = option(None)

        Named.rules = rules  # type: ignore[assignment]
        type("Named", (Named,), {"__module__": "m"})

    assert said in str(refused.value)
