"""Plugins by name: who may claim one, what a broken one says, and how generated ones are added."""

from __future__ import annotations

import pickle
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pluggy
import pytest
from seatunnel_example import CountdownFactory

from seatunnel_py.api import SourceOptions, option
from seatunnel_py.plan import registry
from seatunnel_py.plan.registry import (
    HOOKS_GROUP,
    PROJECT,
    BrokenPluginError,
    PluginEntry,
    PluginKind,
    Registration,
    Registry,
    UnknownPluginError,
    installed,
    missing_extra,
)

SOURCE, SINK = PluginKind.SOURCE, PluginKind.SINK


def entry(value: str, name: str = "Countdown", kind: PluginKind = SOURCE, distribution: str = "acme") -> PluginEntry:
    return PluginEntry(kind, name, distribution, entry_point=EntryPoint(name, value, kind.group))


COUNTDOWN = entry("seatunnel_example:CountdownFactory")


def test_a_factory_is_found_in_any_case_and_made_once() -> None:
    """As in the peer, names have no case; a factory has no state that would need two."""
    found = Registry((COUNTDOWN,))

    assert found.factory(SOURCE, "cOUNTDOWN") is found.factory(SOURCE, "Countdown")


def test_two_distributions_that_claim_one_name_are_refused() -> None:
    """Which one a job gets must not depend on the order of installation; both are named."""
    with pytest.raises(BrokenPluginError, match="one of acme, one of other"):
        Registry((COUNTDOWN, entry("other:Factory", "COUNTDOWN", distribution="other")))


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
        ("seatunnel_example:Countdown", "is no source factory: 'Countdown'"),
        ("seatunnel_example:LinesFactory", "is no source factory: 'LinesFactory'"),
        ("seatunnel_example:hashlib", "is no source factory: 'hashlib'"),
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
    error = ModuleNotFoundError("No module named 'psycopg'", name="psycopg")

    assert missing_extra(countdown, error).remedy == "pip install psycopg"
    assert not jdbc.extra or f"seatunnel-py[{jdbc.extra}]" in missing_extra(jdbc, error).remedy


class Generated:
    """A hook implementation of a third party: it makes a factory when it is asked."""

    @pluggy.HookimplMarker(PROJECT)
    def seatunnel_register(self, registration: Registration) -> None:
        from seatunnel_example import CountdownFactory

        registration.add("source", type("TwiceFactory", (CountdownFactory,), {"name": "Twice"}))


def test_a_hook_registers_generated_plugins() -> None:
    """They stand beside the entry points, under the same rules."""
    manager = registry.hooks()
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


def test_broken_hooks_are_told_with_their_distribution(monkeypatch: pytest.MonkeyPatch) -> None:
    """No trace of pluggy's for somebody who only wanted to check a job file."""

    def fail(self: Any, group: str) -> int:
        assert group == HOOKS_GROUP
        raise ImportError("no module named 'acme'")

    monkeypatch.setattr(pluggy.PluginManager, "load_setuptools_entrypoints", fail)
    registry.hooks.cache_clear()
    try:
        with pytest.raises(BrokenPluginError, match="no module named 'acme'"):
            registry.hooks()
    finally:
        monkeypatch.undo()
        registry.hooks.cache_clear()


class Undefined(SourceOptions):
    at: Nowhere = option(doc="a type that is nowhere")  # type: ignore[name-defined]  # noqa: F821


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        ({"name": None}, "it has no `name`"),
        ({"options": None}, "its `options` have to be a class"),
        ({"options": dict}, "its `options` have to be a class of SourceOptions, TransformOptions or SinkOptions"),
        ({"options": Undefined}, "its options Undefined cannot be understood"),
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
