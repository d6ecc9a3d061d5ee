"""Job files as written: order, duplicates, places, both forms, includes, variables; and hostile ones."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from seatunnel_py.config import JobFile, load, loads, parse_arguments
from seatunnel_py.errors import JobFileError, Problem

ROOT = Path(__file__).resolve().parents[3]
MINIMAL = "source { A { x = 1 } }\nsink { B {} }\n"


def _conformance() -> list[Path]:
    places = (os.environ.get("SEATUNNEL_CONFORMANCE"), ROOT.parent / "shared" / "conformance")
    return next((sorted(Path(one).glob("jobs/**/*.conf")) for one in places if one and Path(one).is_dir()), [])


def _job(text: str, variables: dict[str, str] | None = None, **environment: str) -> JobFile:
    return loads(text, variables, environment=environment)


def _problems(text: str, variables: dict[str, str] | None = None) -> tuple[Problem, ...]:
    with pytest.raises(JobFileError) as caught:
        _job(text, variables)
    return caught.value.problems


VARIABLES = {"dynamic_job_mode": "BATCH", "dynamic_test_parallelism": "2"}


def test_every_job_file_of_the_peer_is_read() -> None:
    """Each has its steps; only a cipher that is a test class of SeaTunnel is refused."""
    paths = _conformance()
    if not paths:
        pytest.skip("SeaTunnel's job files are not here (set SEATUNNEL_CONFORMANCE)")
    refused = {}
    for path in paths:
        try:
            job = load(path, VARIABLES, environment={})
        except JobFileError as error:
            refused[path.name] = str(error)
        else:
            assert job.sources and job.sinks
            assert all(step.place.line > 0 for step in job.steps)

    assert all("no cipher 'aes256'" in message for message in refused.values()), refused


def test_repeated_plugins_survive_in_order_with_their_places() -> None:
    """Two blocks of one name are two steps, and each option knows where it is written."""
    job = _job(
        "source {\n  Jdbc { url = a }\n  Fake {}\n  Jdbc {\n    url = b\n  }\n}\nsink { C {} }\nsink { C { n = 2 } }"
    )

    assert [(step.plugin, step.ordinal, step.place.line, step.place.column) for step in job.sources] == [
        ("Jdbc", 0, 2, 3),
        ("Fake", 1, 3, 3),
        ("Jdbc", 2, 4, 3),
    ]
    url = job.sources[2].options.find("url")
    assert url is not None and (url.value, url.place.line, url.place.column) == ("b", 5, 5)
    assert [step.options.plain() for step in job.sinks] == [{}, {"n": 2}]


@pytest.mark.parametrize(
    "source",
    [
        "source { Jdbc { url = a, split.size = 1 }, Jdbc { url = b } }",
        "source = [ { plugin_name = Jdbc, url = a, split { size = 1 } }, { plugin_name = Jdbc, url = b } ]",
        "source { Jdbc.url = a\n Jdbc.split.size = 1\n Jdbc { url = b } }",
        "source.Jdbc { url = a, split.size = 1 }\nsource { Jdbc { url = b } }",
        'source = [ { plugin_name = Jdbc, url = a, split.size = 1 } ]\nsource += { "plugin_name": "Jdbc", "url": "b" }',
        "mine = { Jdbc { split.size = 1 } }\nsource = ${mine} { Jdbc { url = a } }\nsource { Jdbc { url = b } }",
        "base { split.size = 1 }\nsource { Jdbc = ${base} { url = a }, Jdbc { url = b } }",
    ],
)
def test_every_way_to_write_the_steps_means_the_same(source: str) -> None:
    """Blocks, dotted paths, lists, references."""
    job = _job(source + "\nsink { B {} }")

    assert [(step.plugin, step.options.plain()) for step in job.sources] == [
        ("Jdbc", {"url": "a", "split": {"size": 1}}),
        ("Jdbc", {"url": "b"}),
    ]


def test_json_files_are_read(tmp_path: Path) -> None:
    """The list form in JSON, byte-order mark included."""
    path = tmp_path / "job.json"
    text = json.dumps(
        {"env": {"job.mode": "streaming"}, "source": [{"plugin_name": "A"}], "sink": [{"plugin_name": "B"}]}
    )
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())

    job = load(path)

    assert job.env.job_mode == "STREAMING"
    assert [step.plugin for step in job.steps] == ["A", "B"]


@pytest.mark.parametrize(
    ("written", "variables", "expected"),
    [
        ("${n}", {"n": "7"}, 7),
        ('"${n}"', {"n": "7"}, "7"),
        ("${n}", {"n": "[1, 2]"}, [1, 2]),
        ("${n}", {"n": "{ a = 1 }"}, {"a": 1}),
        ("${n}", {"n": "jdbc:mysql://host/db?a=1"}, "jdbc:mysql://host/db?a=1"),
        ("${n}", {"n": "1, x = 2"}, "1, x = 2"),
        ("${n}", {"n": "[${n}]"}, ["${n}"]),
        ("${n:5}", {}, 5),
        ("${n:}", {}, ""),
        ('"${n:a b}!"', {}, "a b!"),
        ('"${n}"', {}, "${n}"),
        ("${n}", {}, "${n}"),
        ("${?n}", {}, None),
        ("${a.b}", {}, 3),
        ('"x"${n}"y"', {"n": "-"}, "x-y"),
        ('"${table_name:t}"', {}, "${table_name:t}"),
        ("${env:NAME}", {}, "${env:NAME}"),
        ("${env:NAME}", {"env": "prod"}, "${env:NAME}"),
        ("${env}", {"env": "prod"}, "prod"),
        ('"in/${file}"', {"file": "a"}, "in/a"),
        ("${HOME_OF_X}", {}, "/x"),
        ("${n}", {"n": "${HOME_OF_X}"}, "${HOME_OF_X}"),
    ],
)
def test_variables(written: str, variables: dict[str, str], expected: object) -> None:
    """Given, from the environment, defaults, references, and what has to stay as it is."""
    job = _job(f"a.b = 3\nsource {{ A {{ x = {written} }} }}\nsink {{ B {{}} }}", variables, HOME_OF_X="/x")

    assert job.sources[0].options.plain().get("x") == expected


def test_variable_arguments() -> None:
    """Commas separate outside brackets and quotes; the first equals sign separates; placeholders are refused."""
    given = parse_arguments(['a=1,b=[x,y],c="p,q"', "d=k=v"])

    assert given == {"a": "1", "b": "[x,y]", "c": "p,q", "d": "k=v"}
    with pytest.raises(JobFileError, match="system placeholders cannot be used"):
        parse_arguments(["table_name=x"])
    with pytest.raises(JobFileError, match="argument 2 has a part without =") as caught:
        parse_arguments(["a=1", "hunter2"])
    assert "hunter2" not in str(caught.value) and "commas" not in str(caught.value)
    with pytest.raises(JobFileError, match=r"without a name\n.*commas"):
        parse_arguments(["a=1,=2"])


def test_includes_stand_below_the_job_file(tmp_path: Path) -> None:
    """Included names are found where the include stands; problems name the included file."""
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "db.conf").write_text("url = a\ncopy = ${url}\n")
    (tmp_path / "more.conf").write_text('sink { B { include "parts/db" } }\n')
    path = tmp_path / "job.conf"
    path.write_text('include "more"\nsource { A { include required("parts/db.conf"), n = 1 } }\ninclude "none.conf"')

    job = load(path)

    assert job.sources[0].options.plain() == {"url": "a", "copy": "a", "n": 1}
    assert job.sinks[0].options.plain() == {"url": "a", "copy": "a"}
    url = job.sinks[0].options.find("url")
    assert url is not None and url.place.file.endswith("db.conf") and url.place.line == 1


@pytest.mark.parametrize(
    ("include", "message"),
    [
        ('include "../secret.conf"', "outside"),
        ('include "/etc/hostname"', "outside"),
        ('include file("/etc/hostname")', "outside"),
        ('include "link.conf"', "outside"),
        ('include "http://127.0.0.1/x.conf"', "file path"),
        ('include url("http://127.0.0.1/x.conf")', "not supported"),
        ('include classpath("x.conf")', "not supported"),
        ('include package("a", "b.conf")', "not supported"),
        ('include "job.conf"', "includes itself"),
        ('include "loop.conf"', "includes itself"),
        ('include required("none.conf")', "is not there"),
        ('include "list.conf"', "a list"),
    ],
)
def test_includes_that_are_refused(tmp_path: Path, include: str, message: str) -> None:
    """Nothing outside the directory, nothing from an address, no circle."""
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "secret.conf").write_text("a = 1")
    (root / "link.conf").symlink_to(tmp_path / "secret.conf")
    (root / "loop.conf").write_text('include "loop.conf"')
    (root / "list.conf").write_text("[1]")
    (root / "job.conf").write_text(MINIMAL + include)

    with pytest.raises(JobFileError, match=message) as caught:
        load(root / "job.conf")

    assert caught.value.problems[0].line > 0


def test_every_problem_at_once_with_its_place() -> None:
    """Bad values and unknown keys of env, a missing source, a step without a name."""
    problems = _problems(
        "env {\n  paralelism = 2\n  job.mode = BACH\n  checkpoint.interval = 1.5\n}\nsink = [ { x = 1 } ]"
    )

    found = {(problem.line, problem.path, problem.suggestion) for problem in problems}
    assert found == {
        (1, "", ""),
        (2, "env.paralelism", "parallelism"),
        (3, "env.job.mode", "BATCH"),
        (4, "env.checkpoint.interval", ""),
        (6, "sink", ""),
    }


def test_older_names_and_spellings_of_env() -> None:
    """Dotted, nested and quoted keys are equal; older names work and are noted; strict may be off."""
    job = _job(
        'env { execution.parallelism = "4", "checkpoint.interval" = 5000, job { mode = "streaming" }\n'
        "spark.executor { memory = 1g }, flink.x = 1, strict = false, nonsense = 1 }\n" + MINIMAL
    )

    assert (job.env.parallelism, job.env.checkpoint_interval, job.env.job_mode) == (4, 5000, "STREAMING")
    assert job.env.spark == {"executor.memory": "1g"}
    assert {note.path for note in job.notes} == {"env.execution.parallelism", "env.flink", "env.nonsense"}


def test_a_flush_between_checkpoints_is_noted_as_without_effect() -> None:
    """Rows show with each checkpoint: who asked for them sooner is told."""
    text = "env {{ sink.flush.interval = {} }}\nsource {{ A {{}} }}\nsink {{ B {{}} }}"

    assert [note.path for note in loads(text.format(1000)).notes] == ["env.sink.flush.interval"]
    assert not loads(text.format(0)).notes


@pytest.mark.parametrize(("said", "noted"), [("true", []), ("false", ["env.checkpoint.retain-after-job-cancelled"])])
def test_who_wants_no_checkpoints_of_a_cancelled_job_hears_that_they_stay(said: str, noted: list[str]) -> None:
    job = _job(f"env {{ checkpoint.retain-after-job-cancelled = {said} }}\n" + MINIMAL)

    assert [note.path for note in job.notes] == noted
    assert all(note.line == 1 and "--fresh" in str(note) for note in job.notes)


def test_an_sql_job_file_is_refused_with_a_remedy() -> None:
    """It is another language."""
    with pytest.raises(JobFileError, match="SQL job files are not supported"):
        load("job.sql")


def _doubling(levels: int, template: str) -> str:
    return "a0 = [1, 2]\nt0 = xxxxxxxx\n" + "\n".join(template.format(i, i - 1) for i in range(1, levels)) + "\n"


HOSTILE = {
    "nested objects": "a = " + "{a = " * 10_000,
    "nested lists": "a = " + "[" * 10_000,
    "dotted path": ".".join("a" * 10_000) + " = 1",
    "reference path": "x = ${" + ".".join("a" * 10_000) + "}",
    "lists in lists": _doubling(60, "a{0} = [${{a{1}}}, ${{a{1}}}]") + "source = ${a59}",
    "text in text": _doubling(60, "t{0} = ${{t{1}}}${{t{1}}}") + "env.job.name = ${t59}",
    "own value in own value": "\n".join(
        ["env.job.name = xxxxxxxx", *["env.job.name = ${env.job.name}${env.job.name}"] * 60]
    ),
    "objects in objects": _doubling(60, "o{0} {{ a = ${{o{1}}}, b = ${{o{1}}} }}")
    + "o0 { a = 1 }\nsource { A = ${o59} }",
    "deep by reference": "o0 = 1\n"
    + "\n".join(f"o{i} {{ a = ${{o{i - 1}}} }}" for i in range(1, 2000))
    + "\nsource { A = ${o1999} }",
    "circle": "a = ${b}\nb = ${a}\nsource { A { x = ${a} } }\nsink { B {} }",
    "circle of objects": "a { x = ${b} }\nb { y = ${a} }\nsource { A = ${a} }\nsink { B {} }",
    "self": "env = ${env}\nsource { A {} }\nsink { B {} }",
    "5000 digits": "env.parallelism = " + "9" * 5000,
    "infinite": "env.parallelism = 1e999",
    "infinite text": 'env.job.retry.interval.seconds = "1e999"\n' + MINIMAL,
    "not a number": "env.error.max-ratio = NaN\n" + MINIMAL,
    "many digits in text": 'env.parallelism = "' + "9" * 5000 + '"\n' + MINIMAL,
    "NUL": "env.job.name = a\0b",
    "half a character": 'env.job.name = "\\ud800"',
    "unclosed string": 'env.job.name = "' + '\\"' * 100_000,
    "unclosed triple": 'env.job.name = """' + '"" ' * 100_000,
    "blanks": "a =" + " " * 1_000_000 + "1",
    "one word": "a" * 3_000_000,
    "one text": 'env.job.name = "' + "a" * 3_000_000 + '"\n' + MINIMAL,
    "one triple": 'env.job.name = """' + "a\n" * 1_500_000 + '"""\n' + MINIMAL,
    "words": "a = " + "x " * 50_000 + "= 1",
    "blank lines": " \n" * 20_000,
    "5000 keys": "env {\n" + "\n".join(f"key{i} = {i}" for i in range(5_000)) + "\n}\n" + MINIMAL,
    "too large": "#" * (4 * 1024 * 1024 + 1),
    "too many": "a,\n" * 60_000,
    "list": "[1, 2]",
    "empty": "",
    "includes without a directory": 'include "x.conf"',
    "path of nothing": ". = 1",
}


CPU_SECONDS_MAX = 3.0  # a collection of what thousands of tests have left may fall into it


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused_quickly(name: str) -> None:
    """A typed error with a place, without growing a stack or a heap. Alone each takes 0.3 s of CPU at most; what grows
    with the square of its size would take minutes."""
    before = time.process_time()

    problems = _problems(HOSTILE[name])

    assert time.process_time() - before < CPU_SECONDS_MAX
    assert all(problem.file == "job.conf" for problem in problems)


def test_a_large_flat_file_is_read_quickly() -> None:
    """Five thousand keys of one step cost well under a second where nothing else is at work."""
    text = "source { A {\n" + "\n".join(f"key{i} = {i}" for i in range(5_000)) + "\n} }\nsink { B {} }"
    before = time.process_time()

    job = _job(text)

    assert time.process_time() - before < CPU_SECONDS_MAX
    assert len(job.sources[0].options.fields) == 5_000


@pytest.mark.parametrize(
    ("data", "line", "column"),
    [(b"\xff\xfea\x00", 1, 1), (b"a = 1\nb = \xc3\x28", 2, 5), (b"\xef\xbb\xbfa = \x80", 1, 5)],
)
def test_bytes_that_are_not_utf8_are_refused_with_their_place(
    tmp_path: Path, data: bytes, line: int, column: int
) -> None:
    """Line and column of the first bad byte."""
    path = tmp_path / "job.conf"
    path.write_bytes(data)

    with pytest.raises(JobFileError, match="not UTF-8") as caught:
        load(path)

    assert (caught.value.problems[0].line, caught.value.problems[0].column) == (line, column)


@pytest.mark.parametrize("path", ["", ".", "no/such.conf", "a\0b"])
def test_a_file_that_cannot_be_read_is_a_typed_error(path: str) -> None:
    """No operating-system error reaches the caller."""
    with pytest.raises(JobFileError):
        load(path)
