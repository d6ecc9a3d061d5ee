"""The JSON Schema of job files accepts what the check accepts, and refuses unknown options."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from copy import deepcopy
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from job_schema_rules import broken

from seatunnel_py.api.options import describe
from seatunnel_py.cli.commands import plugins
from seatunnel_py.cli.commands.init import templates
from seatunnel_py.config.env import EnvOptions
from seatunnel_py.config.job_file import JobFile, loads
from seatunnel_py.errors import JobFileError
from seatunnel_py.plan.plugins.installed import installed
from seatunnel_py.plan.plugins.registry import PluginEntry, PluginKind, Registry
from seatunnel_py.plan.steps import understand

ROOT = Path(__file__).parents[3]
SECRETS = {"SHOP_PASSWORD": "x", "SOURCE_PASSWORD": "x", "TARGET_PASSWORD": "x"}
URL = "jdbc:sqlite:shop.db"


@pytest.fixture(scope="module")
def schema() -> Any:
    """As the command prints it, for that is what editors read."""
    with pytest.MonkeyPatch.context() as patch:
        printed: list[str] = []
        patch.setattr(plugins, "say_document", printed.append)
        plugins.schema(None)
    return json.loads("".join(printed))


def understood(text: str) -> JobFile:
    found: list[Any] = []
    file = loads(text, {"dir": "demo"}, environment=SECRETS, collect=found)
    understand(file, installed(), found)
    return file


def shipped() -> Iterator[Any]:
    """Jobs of the project, in their JSON form."""
    texts = {template.name: template.text for template in templates()}
    texts |= {path.name: path.read_text() for path in (ROOT / "configs").rglob("*.conf")}
    guide = re.findall(r"```hocon\n(.*?)```", (ROOT / "docs" / "guide.md").read_text(), flags=re.DOTALL)
    texts |= {f"guide {number}": text for number, text in enumerate(guide)}
    for name, text in texts.items():
        yield pytest.param(json.loads(understood(text).rendered(lambda node: node)), id=name)


@pytest.mark.parametrize("job", list(shipped()))
def test_jobs_of_the_project_are_accepted_and_unknown_options_in_them_are_not(job: Any, schema: Any) -> None:
    """In ``env``, and in each step."""
    assert list(broken(schema, job, schema)) == []
    for kind in ("env", "source", "transform", "sink"):
        steps = job.get(kind, []) if kind != "env" else [0]
        for at in range(len(steps)):
            wrong = deepcopy(job)
            (wrong["env"] if kind == "env" else wrong[kind][at])["unknown_option"] = 1
            assert list(broken(schema, wrong, schema)) != []


def alternatives(schema: Any) -> Iterator[Any]:
    """A schema and everything that it says may stand instead."""
    yield schema
    for one in schema.get("anyOf", ()):
        yield from alternatives(one)


def job_of(source: dict[str, Any] | None = None, env: dict[str, Any] | None = None, **sink: Any) -> dict[str, Any]:
    read = {"plugin_name": "Jdbc", "url": URL, "table_path": "t"} if source is None else source
    write = {"plugin_name": "Kafka", "topic": "t", "bootstrap.servers": "localhost:9092", **sink}
    return {"env": env or {}, "source": [read], "sink": [write]}


def jdbc(**options: Any) -> dict[str, Any]:
    return job_of({"plugin_name": "Jdbc", "url": URL, "table_path": "t", **options})


ACCEPTED = {
    "a dotted key": jdbc(**{"split.size": 5}),
    "a nested key": jdbc(split={"size": 5}),
    "a key that is divided anywhere": jdbc(**{"split.even-distribution": {"factor.lower-bound": 0.1}}),
    "a required key that is nested": job_of(
        {"plugin_name": "Kafka", "topic": "t", "bootstrap": {"servers": "b:9"}, "start_mode": "earliest"}
    ),
    "an older name": jdbc(user="me", password="x"),
    "a name in another case": job_of({"plugin_name": "jdbc", "url": URL, "table_path": "t"}),
    "a choice in another case": job_of(semantics="exactly-once"),
    "a text for a number": jdbc(fetch_size="10"),
    "a text for a truth value": jdbc(use_regex="true"),
    "a number for a text": jdbc(user="me", password=123, properties={"timeout": 5, "ssl": True}),
    "a text for a list": job_of(partition_key_fields="a,b"),
    "null": jdbc(query=None, table_list=None),
    "a map with dots": job_of(**{"kafka.config": {"compression.type": "lz4", "sasl": {"username": "me"}}}),
    "a map's key by itself": job_of(**{"kafka.config.compression.type": "lz4"}),
    "settings of Spark": job_of(env={"spark.executor.cores": 2, "flink": {"a": {"b": 1}}}),
    "an older key of env": job_of(env={"execution": {"parallelism": 2}, "ledger.retention": "30 d"}),
    "the schema's own address": {"$schema": "job.schema.json", **job_of()},
}
REFUSED = {
    "an unknown plugin": job_of({"plugin_name": "Jdbk", "url": URL}),
    "no name": job_of({"url": URL}),
    "a required option that is missing": job_of({"plugin_name": "Jdbc", "table_path": "t"}),
    "an unknown choice": job_of(semantics="twice"),
    "a number that is too small": jdbc(partition_num=0),
    "an object for a number": jdbc(fetch_size={"rows": 1}),
    "an unknown nested key": jdbc(split={"sise": 5}),
    "an unknown option of an element": job_of({"plugin_name": "Jdbc", "url": URL, "table_list": [{"table": "t"}]}),
    "no sink": {"source": job_of()["source"]},
    "an unknown key of env": job_of(env={"checkpoint": {"intervall": 5}}),
    "an option of the other kind": jdbc(generate_sink_sql=True),
}


@pytest.mark.parametrize("job", ACCEPTED.values(), ids=ACCEPTED)
def test_what_the_check_accepts_the_schema_accepts(job: Any, schema: Any) -> None:
    """An editor that marks a right line is worse than none."""
    understood(json.dumps(job))

    assert list(broken(schema, job, schema)) == []


@pytest.mark.parametrize("job", REFUSED.values(), ids=REFUSED)
def test_what_the_schema_refuses_the_check_refuses(job: Any, schema: Any) -> None:
    assert list(broken(schema, job, schema)) != []
    with pytest.raises(JobFileError):
        understood(json.dumps(job))


def test_every_option_has_its_text_and_its_older_names(schema: Any) -> None:
    """Of every plugin that is installed, and of ``env``."""
    registry = installed()
    models = {f"{entry.kind}.{entry.name}": registry.factory(entry.kind, entry.name) for entry in registry.entries()}
    known = {"env": EnvOptions} | {place: factory.options for place, factory in models.items()}  # type: ignore[attr-defined]

    for place, model in known.items():
        properties = schema["$defs"][place]["properties"]
        for option in describe(model):
            told = list(alternatives(properties[option.key]))
            assert option.doc in [one.get("description", "") for one in told], f"{place}.{option.key}"
            if option.choices:
                assert list(option.choices) in [one.get("enum") for one in told], f"{place}.{option.key}"
            assert [name for name in option.fallback if name not in properties] == []
    assert schema["$defs"]["source.Jdbc"]["properties"]["split.sample-sharding.threshold"]["default"] == 1000


def test_the_command_writes_the_file(tmp_path: Path, schema: Any, capsys: pytest.CaptureFixture[str]) -> None:
    plugins.schema(tmp_path / "job.schema.json")

    assert json.loads((tmp_path / "job.schema.json").read_text()) == schema
    assert "$schema" in capsys.readouterr().out


def test_a_plugin_that_cannot_be_loaded_is_left_out_and_named(
    tmp_path: Path, schema: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One mistake in somebody's plugin took the help of editors from all others."""
    odd = PluginEntry(PluginKind.SOURCE, "Odd", "odd", EntryPoint("Odd", "no_such_module:Odd", PluginKind.SOURCE.group))
    with_odd = Registry((*installed().entries(), odd))
    monkeypatch.setattr(plugins, "installed", lambda: with_odd)

    plugins.schema(tmp_path / "job.schema.json")

    assert json.loads((tmp_path / "job.schema.json").read_text()) == schema
    assert "skipped: the source 'Odd' of odd cannot be loaded" in capsys.readouterr().err
