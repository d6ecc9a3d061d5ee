"""The generated pages of the site: everything that the product declares stands on them, with its meaning."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import get_args

import pytest

import seatunnel_py.api as api
from seatunnel_py.api.options import OptionInfo, describe
from seatunnel_py.config.env import EnvOptions
from seatunnel_py.runtime.observe.events import JobEvent
from tests.docs.site import api_pages, check, cli_page, env_page, events_page, examples, groups, plugin_pages, rest_page
from tests.docs.site.installed import Plugin, all_models, plugins
from tests.docs.site.markdown import code, plain, sentence

PLUGINS = [pytest.param(one, id=f"{one.kind}-{one.name}") for one in plugins()]


@cache
def pages() -> dict[str, str]:
    return plugin_pages.pages()


def line_of(page: str, anchor: str) -> str:
    """The line of a table that has this anchor."""
    (line,) = re.findall(rf'^.*<a id="{re.escape(anchor)}"></a>.*$', page, flags=re.MULTILINE)
    return str(line)


def missing(line: str, info: OptionInfo) -> list[str]:
    """What the line of an option does not say of it."""
    default = info.default if info.type != "object" else ""
    wanted = [code(info.key), sentence(plain(info.doc)), *map(code, (*info.choices, *info.fallback))]
    wanted += [code(default)] if default else []
    wanted += ["*required*"] if info.required else []
    return [text for text in wanted if text not in line]


@pytest.mark.parametrize("plugin", PLUGINS)
def test_every_option_is_on_the_page_with_meaning_and_default(plugin: Plugin) -> None:
    """Those inside of objects too."""
    page = pages()[plugin.page]

    for path, model in all_models(plugin.model):
        prefix = f"{plugin.kind.value}-{path}." if path else f"{plugin.kind.value}-"
        for info in describe(model):
            assert missing(line_of(page, prefix + info.key), info) == []


@pytest.mark.parametrize("plugin", PLUGINS)
def test_every_option_says_what_it_means(plugin: Plugin) -> None:
    """The models are the documentation: a text that is missing there is missing everywhere."""
    models = all_models(plugin.model)

    assert [f"{path}.{info.key}" for path, model in models for info in describe(model) if len(info.doc) < 5] == []


@pytest.mark.parametrize("plugin", PLUGINS)
def test_every_plugin_has_an_example_and_its_capabilities_on_its_page(plugin: Plugin) -> None:
    """The example is the job file that another test runs."""
    page, found = pages()[plugin.page], examples.of(plugin)

    assert found
    assert [one.path.name for one in found if one.job not in page] == []
    assert f"### Capabilities {{ #{plugin.kind.value}-capabilities }}\n\n" in page
    assert page.startswith(f"# {plugin.name}\n")


def test_every_example_is_on_a_page() -> None:
    """A file that is named after no plugin is on none."""
    shown = [one.path for plugin in plugins() for one in examples.of(plugin)]

    assert sorted(set(examples.paths()) - set(shown)) == []


def test_every_group_of_options_takes_some() -> None:
    """A pattern that takes nothing is of an option that was renamed."""
    by_name = {(one.kind, one.name): one for one in plugins()}
    unused = []
    for key, own in groups.GROUPS.items():
        keys = [info.key for info in describe(by_name[key].model)]
        single = [groups.Group(pattern, (pattern,)) for group in own for pattern in group.patterns]
        unused += [(key, one.title) for one in single if not any(groups.takes(one, name) for name in keys)]

    assert unused == []


def test_every_key_of_env_is_on_its_page() -> None:
    """Each once, with meaning and default."""
    page = env_page.page()

    for path, model in all_models(EnvOptions):
        for info in describe(model):
            assert len(info.doc) >= 5, info
            assert missing(line_of(page, f"env-{path}.{info.key}" if path else f"env-{info.key}"), info) == []


def test_every_command_is_on_the_page_with_all_that_it_takes() -> None:
    """Each has a text, an example, and a meaning for each argument."""
    page, found = cli_page.page(), dict(cli_page.commands())

    assert {"seatunnel run", "seatunnel jobs savepoint", "seatunnel plugins show"} <= found.keys()
    for name, command in found.items():
        assert command.help and f"## {code(name)}" in page
        assert [one.name for one in command.params if not one.hidden and not one.help] == []
        spelt = [spelling for one in command.params if not one.hidden for spelling in one.opts if spelling[0] == "-"]
        assert [one for one in spelt if f"`{one}" not in page and f"<code>{one}" not in page] == []


def test_every_event_is_on_the_page() -> None:
    """With the names and the keys that the log writes."""
    found = events_page.lines()
    values = {"prepare", "commit", "begin anew", "--fresh"}
    named = {name: set(re.findall(r"`([^`]+)`", text)) - values for name, text in events_page.MEANINGS.items()}

    assert {kind for kind, _, _ in found.values()} == set(get_args(JobEvent))
    assert found.keys() == events_page.MEANINGS.keys()
    assert {name: keys - set(found[name][2]) for name, keys in named.items() if keys - set(found[name][2])} == {}


def test_every_name_of_the_api_is_on_one_page() -> None:
    """A new name needs no edit of the site."""
    blocks = re.findall(r"^::: seatunnel_py\.api\.(\w+)$", "\n".join(api_pages.pages().values()), flags=re.MULTILINE)

    assert sorted(blocks) == sorted(api.__all__)


def test_the_check_of_the_site_finds_what_is_broken(tmp_path: Path) -> None:
    """A check that finds nothing proves nothing."""
    (tmp_path / "a.html").write_text(
        '<a href="b.html#there">1</a><a href="b.html#gone">2</a><a href="c.html">3</a><a href="#self" id="self">4</a>'
        '<a href="https://example.org">5</a><script src="https://example.org/x.js"></script><pre class="mermaid"></pre>'
    )
    (tmp_path / "b.html").write_text('<p id="there"></p><link rel="stylesheet" href="s.css">')
    (tmp_path / "s.css").write_text("@font-face { src: url(https://example.org/font.woff) }")

    assert sorted(check.problems(tmp_path)) == [
        "a.html: b.html#gone: there is no such anchor",
        "a.html: c.html: there is no such file",
        "a.html: loads //unpkg.com/mermaid from elsewhere",
        "a.html: loads https://example.org/x.js from elsewhere",
        "s.css: loads something from elsewhere",
    ]


def test_every_route_is_on_the_page_of_the_rest_interface_with_its_role() -> None:
    """Its meaning stands in its docstring."""
    from seatunnel_py.web.route_table import ROUTES

    page = rest_page.page()
    for route in ROUTES:
        (line,) = [
            line
            for line in page.splitlines()
            if line.startswith(f"| `{route.method} {route.path.replace(':path}', '}')}` |")
        ]
        none = "| none |" if route.need.public else "none on this machine"
        assert (f"`{route.need.role.value}`" if route.need.role else none) in line
        assert len(route.handler.__doc__ or "") > 10
