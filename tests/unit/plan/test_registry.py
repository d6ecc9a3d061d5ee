"""Plugins by name: who may claim one, what a broken one says, and how generated ones are added."""

from __future__ import annotations

import pickle
import sys
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any

import pluggy
import pytest
from seatunnel_example import CountdownFactory

from seatunnel_py.api import Determinism, SourceCapabilities, SourceOptions, option
from seatunnel_py.config.job_file import loads
from seatunnel_py.errors import JobFileError
from seatunnel_py.plan.plugins import installed as installed_plugins
from seatunnel_py.plan.plugins import registry as plugin_registry
from seatunnel_py.plan.plugins.installed import HOOKS_GROUP, PROJECT, Registration, installed
from seatunnel_py.plan.plugins.registry import (
    BrokenPluginError,
    PluginEntry,
    PluginKind,
    Registry,
    UnknownPluginError,
    missing_extra,
)
from seatunnel_py.plan.steps import understand

SOURCE, SINK = PluginKind.SOURCE, PluginKind.SINK


def entry(value: str, name: str = "Countdown", kind: PluginKind = SOURCE, distribution: str = "acme") -> PluginEntry:
    return PluginEntry(kind, name, distribution, entry_point=EntryPoint(name, value, kind.group))


COUNTDOWN = entry("seatunnel_example:CountdownFactory")


def test_a_factory_is_found_in_any_case_and_made_once() -> None:
    """As in SeaTunnel, names have no case; a factory has no state that would need two."""
    found = Registry((COUNTDOWN,))

    assert found.factory(SOURCE, "cOUNTDOWN") is found.factory(SOURCE, "Countdown")


def test_two_distributions_that_claim_one_name_are_refused_where_it_is_used() -> None:
    """P2-14: which one a job gets must not depend on the order of installation, but every command of every job failed."""
    other = entry("other:Factory", "COUNTDOWN", distribution="Acme_Other")
    found = Registry((COUNTDOWN, other, entry("seatunnel_example:LinesFactory", "Lines", SINK)))

    assert found.factory(SINK, "Lines").name == "Lines"
    with pytest.raises(BrokenPluginError, match="one of acme, one of Acme_Other") as refused:
        found.factory(SOURCE, "Countdown")
    assert "acme:Countdown or Acme_Other:COUNTDOWN" in refused.value.remedy
    assert found.factory(SOURCE, "acme:countdown").name == "Countdown"
    with pytest.raises(BrokenPluginError, match="of Acme_Other cannot be loaded"):
        found.factory(SOURCE, "acme-other:Countdown")
    with pytest.raises(UnknownPluginError):
        found.factory(SOURCE, "nobody:Countdown")
    assert found.names(SOURCE) == ("Countdown", "COUNTDOWN")


def test_a_job_file_names_a_plugin_with_its_distribution() -> None:
    """P2-14: in quotes, for a colon ends a key."""
    found = Registry((COUNTDOWN, entry("o:F", distribution="other"), *installed().entries()))
    for text in (
        'source { "acme:Countdown" { start = 1 } }',
        'source = [ { plugin_name = "acme:Countdown", start = 1 } ]',
    ):
        job = understand(loads(f"{text}\nsink {{ Console {{}} }}"), found)
        assert job.steps[0].plugin == "Countdown"
    with pytest.raises(JobFileError, match="two plugins are called 'Countdown'"):
        understand(loads("source { Countdown { start = 1 } }\nsink { Console {} }"), found)


def test_an_entry_point_in_another_group_is_pointed_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """P2, mistakes: a wrong group was not noticed; the plugin looked as if it were not installed."""
    wrong = EntryPoint("Bad", "seatunnel_bad:BadFactory", "seatunnel_py.source")
    monkeypatch.setattr(plugin_registry.importlib.metadata, "entry_points", lambda: EntryPoints([wrong]))

    with pytest.raises(UnknownPluginError) as unknown:
        Registry((COUNTDOWN,)).factory(SOURCE, "bad")

    assert "'seatunnel_py.source', which is not a group of plugins" in unknown.value.remedy
    assert "stands in 'seatunnel_py.sources'; known sources: Countdown; " in unknown.value.remedy


def test_one_distribution_that_is_seen_twice_is_one() -> None:
    """An editable installation lies on the path in two ways."""
    assert len(Registry((COUNTDOWN, COUNTDOWN)).entries()) == 1


def test_a_source_and_a_sink_may_share_a_name() -> None:
    """Jdbc is both."""
    both = Registry((COUNTDOWN, entry("seatunnel_example:LinesFactory", kind=SINK)))

    assert both.factory(SOURCE, "Countdown") is not both.factory(SINK, "Countdown")


def test_an_unknown_name_suggests_the_nearest_and_lists_what_there_is() -> None:
    """Also when only the case and a letter are wrong; far-off names suggest nothing."""
    with pytest.raises(UnknownPluginError) as caught:
        Registry((COUNTDOWN,)).factory(SOURCE, "countdwn")
    with pytest.raises(UnknownPluginError) as far:
        Registry((COUNTDOWN,)).factory(SOURCE, "Kafka")

    assert caught.value.suggestion == "Countdown"
    assert "known sources: Countdown" in caught.value.remedy
    assert far.value.suggestion == ""
    assert pickle.loads(pickle.dumps(caught.value)).suggestion == "Countdown"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("no_such_module:Factory", "cannot be loaded: ModuleNotFoundError"),
        ("seatunnel_example:NoSuchFactory", "cannot be loaded: AttributeError"),
        ("seatunnel_example:Countdown", "is not a source factory: 'Countdown'"),
        ("seatunnel_example:LinesFactory", "is not a source factory: 'LinesFactory'"),
        ("seatunnel_example:hashlib", "is not a source factory: 'hashlib'"),
        ("seatunnel_py.api:SourceFactory", "cannot be made: "),
    ],
)
def test_a_broken_entry_point_says_whose_it_is(value: str, text: str) -> None:
    """A typed error with the distribution in it, whatever way it is broken; the other plugins still work."""
    found = Registry((entry(value), entry("seatunnel_example:LinesFactory", "Lines", SINK)))

    with pytest.raises(BrokenPluginError) as caught:
        found.factory(SOURCE, "Countdown")

    assert "the source 'Countdown' of acme" in caught.value.message
    assert text in caught.value.message
    assert caught.value.remedy
    assert found.factory(SINK, "Lines").name == "Lines"


def test_a_missing_library_is_told_as_the_command_to_type() -> None:
    """The extra of the factory, or the library itself where it has none."""
    countdown = Registry((COUNTDOWN,)).factory(SOURCE, "Countdown")
    jdbc = installed().factory(SOURCE, "Jdbc")
    options = jdbc.options(url="jdbc:postgresql://h/d", table_path="t", username="u", password="p")  # type: ignore[attr-defined]
    error = ModuleNotFoundError("No module named 'psycopg'", name="psycopg")

    assert missing_extra(countdown, error).remedy == "pip install psycopg"
    assert missing_extra(jdbc, error, options).remedy == "pip install 'seatunnel-py[postgres]'"


@pytest.mark.parametrize(("extra", "remedy"), [("lib", "acme[lib]"), ("acme-all[lib]", "acme-all[lib]")])
def test_an_extra_is_that_of_the_plugin_s_own_distribution(extra: str, remedy: str) -> None:
    """P2-F6: every third party was told `pip install 'seatunnel-py[lib]'`."""
    factory = type("Extra", (CountdownFactory,), {"name": "Extra", "extra": extra})
    found = Registry((PluginEntry(SOURCE, "Extra", "acme", factory=factory),)).factory(SOURCE, "Extra")

    assert missing_extra(found, ImportError("x")).remedy == f"pip install '{remedy}'"


@pytest.mark.parametrize(
    ("value", "code", "message", "remedy"),
    [
        (
            "seatunnel_badd:BadFactory",
            "",
            "No module named 'seatunnel_badd'",
            'acme: Bad = "seatunnel_badd:BadFactory"',
        ),
        ("bad_module:BadFactori", "", "has no attribute 'BadFactori'", 'acme: Bad = "bad_module:BadFactori"'),
        ("bad_module:BadFactory", "import badlib", "(bad_module.py:1)", "pip install badlib"),
        ("bad_module:BadFactory", "1 / 0", "division by zero (bad_module.py:1)", "correct the plugin"),
    ],
)
def test_a_load_error_points_to_what_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str, code: str, message: str, remedy: str
) -> None:
    """P2-F6: a slip in pyproject.toml and a missing import were answered with `pip install --force-reinstall`."""
    (tmp_path / "bad_module.py").write_text(f"{code}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "bad_module", raising=False)

    with pytest.raises(BrokenPluginError) as broken:
        Registry((entry(value, "Bad"),)).factory(SOURCE, "Bad")

    assert message in broken.value.message
    assert remedy in broken.value.remedy


class Generated:
    """A hook implementation of a third party: it makes a factory when it is asked."""

    @pluggy.HookimplMarker(PROJECT)
    def seatunnel_register(self, registration: Registration) -> None:
        from seatunnel_example import CountdownFactory

        registration.add("source", type("TwiceFactory", (CountdownFactory,), {"name": "Twice"}))


def test_a_hook_registers_generated_plugins() -> None:
    """They stand beside the entry points, under the same rules."""
    manager = installed_plugins.hooks().manager
    plugin = Generated()
    manager.register(plugin)
    installed.cache_clear()
    try:
        assert installed().factory(SOURCE, "twice").name == "Twice"
        assert "Countdown" in installed().names(SOURCE)
    finally:
        manager.unregister(plugin)
        installed.cache_clear()


def test_an_unknown_kind_is_refused_when_it_is_registered() -> None:
    """The author sees it, not whoever runs a job."""
    with pytest.raises(ValueError, match="sauce"):
        Registration().add("sauce", type(installed().factory(SOURCE, "Countdown")))


class Unwilling:
    @pluggy.HookimplMarker(PROJECT)
    def seatunnel_register(self, registration: Registration) -> None:
        raise ValueError("no plugins today")


def test_broken_hooks_stop_no_job_and_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """P2-14: hooks that could not be loaded stopped every command of every job. They are a note of each job, and what
    a job that misses a plugin is told."""
    broken = EntryPoint("listener", "no_such_module", HOOKS_GROUP)
    every = (*installed_plugins._entry_points(), broken)
    monkeypatch.setattr(installed_plugins, "_entry_points", lambda: every)
    installed_plugins.hooks.cache_clear()
    installed.cache_clear()
    try:
        manager = installed_plugins.hooks().manager
        manager.register(Unwilling(), name="acme:plugins")
        found = installed()
        job = understand(loads("source { Countdown { start = 3 } }\nsink { Console {} }"), found)
        with pytest.raises(UnknownPluginError) as unknown:
            found.factory(SOURCE, "Countdwn")
        with pytest.raises(JobFileError, match="did you mean 'Countdown'"):
            understand(loads("source { Countdwn { start = 3 } }\nsink { Console {} }"), found)
    finally:
        monkeypatch.undo()
        installed_plugins.hooks.cache_clear()
        installed.cache_clear()

    assert [note.partition(",")[0] for note in job.notes] == [
        "the hooks of ? cannot be loaded",
        "the hooks of acme fail",
    ]
    assert "no_such_module" in job.notes[0] and "no plugins today" in job.notes[1]
    assert "no plugins today" in unknown.value.remedy and "no_such_module" in unknown.value.remedy
    assert "known sources: " in unknown.value.remedy and "Countdown, " in unknown.value.remedy
    assert unknown.value.suggestion == "Countdown"


class Undefined(SourceOptions):
    at: Nowhere = option(doc="a type that is nowhere")  # type: ignore[name-defined]  # noqa: F821


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        ({"name": None}, "it has no `name`"),
        ({"options": None}, "its `options` have to be a class"),
        ({"options": dict}, "its `options` have to be a class of SourceOptions, TransformOptions or SinkOptions"),
        ({"options": Undefined}, "its options Undefined cannot be understood"),
        (
            {"capabilities": lambda self, options: SourceCapabilities(determinism=Determinism.DETERMINATE)},
            "its `capabilities(options)` is called with (options, context)",
        ),
        ({"create": lambda self: None}, "its `create()` is called with (options, context)"),
    ],
)
def test_a_factory_that_declares_too_little_is_named(declared: dict[str, Any], said: str) -> None:
    """Every command that looked at its options ended with a trace."""
    factory = type("Odd", (CountdownFactory,), declared)
    broken = Registry((PluginEntry(SOURCE, "Odd", "odd", factory=factory),))

    with pytest.raises(BrokenPluginError, match="the source 'Odd' of odd") as raised:
        broken.factory(SOURCE, "Odd")
    assert said in raised.value.message


def test_a_module_that_ends_the_process_is_a_broken_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`plugins list` said `bye` and nothing else, of all plugins."""
    (tmp_path / "module_that_exits.py").write_text("raise SystemExit('bye')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    point = EntryPoint("Odd", "module_that_exits:Factory", SOURCE.group)

    with pytest.raises(BrokenPluginError, match="cannot be loaded: SystemExit: bye"):
        Registry((PluginEntry(SOURCE, "Odd", "odd", entry_point=point),)).factory(SOURCE, "Odd")
