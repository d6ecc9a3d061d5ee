"""One page for each connector and each transform, and an index of them."""

from __future__ import annotations

import re
from pathlib import Path

from seatunnel_py.plan.plugins.registry import PluginKind
from tests.docs.site import capabilities, examples, options
from tests.docs.site.installed import Plugin, plugins
from tests.docs.site.markdown import plain, sentence, table

DOCS = Path(__file__).parents[3] / "docs"
SEE = {
    "connectors/jdbc.md": (
        ("Copy many tables", "how-to/many-tables.md"),
        ("Exactly once", "how-to/exactly-once.md"),
        ("Start effects", "guide.md#start-effects"),
        ("Names of targets", "guide.md#names-of-targets"),
    ),
    "connectors/kafka.md": (("Kafka", "how-to/kafka.md"), ("Messages of Kafka", "guide.md#messages-of-kafka")),
    "connectors/postgres-cdc.md": (("Follow changes", "how-to/follow-changes.md"),),
    "connectors/localfile.md": (("Files", "how-to/files.md"),),
    "connectors/assert.md": (("Test a job", "how-to/test-a-job.md"),),
    "transforms/datavalidator.md": (("Bad rows", "how-to/bad-rows.md"),),
}
"""Other pages that a page leads to."""
LIMITS_OF_EXAMPLES = (
    "Each example is a whole job file, and a test runs it. Paths and addresses are those of the [tutorial](../tutorial.md)"
    " or of a server on this machine.\n"
)


def pages() -> dict[str, str]:
    """Every page by its path below the site's root."""
    found: dict[str, list[Plugin]] = {}
    for plugin in plugins():
        found.setdefault(plugin.page, []).append(plugin)
    written = {path: page(path, own) for path, own in found.items()}
    return written | {
        "connectors/index.md": _connectors(),
        "transforms/index.md": _transforms(),
    }


def page(path: str, own: list[Plugin]) -> str:
    """The page of all plugins of one name."""
    parts = [f"# {own[0].name}\n"]
    if len(own) > 1:
        links = [f"[{plugin.kind.value}](#{plugin.kind.value})" for plugin in own]
        parts.append(f"On this page: {' and '.join(links)}.\n")
    if path in SEE:
        parts.append(f"See also: {', '.join(f'[{title}](../{to})' for title, to in SEE[path])}.\n")
    parts += [_plugin(plugin) for plugin in own]
    return "\n".join(parts)


def _plugin(plugin: Plugin) -> str:
    kind = plugin.kind.value
    parts = [
        f"## {kind.capitalize()} {{ #{kind} }}\n",
        f"{sentence(plain(plugin.factory.summary))} {_install(plugin)}\n",
    ]
    for example in examples.of(plugin):
        parts.append(f"### Example: {plain(example.title)} {{ #{kind}-{example.path.stem.lower()} }}\n")
        parts += [f"{example.text}\n"] if example.text else []
        parts.append(f"```hocon\n{example.job}\n```\n")
    parts.append(f"### Capabilities {{ #{kind}-capabilities }}\n\n{capabilities.section(plugin)}")
    parts += [_tried(plugin), options.of_plugin(plugin)]
    return "\n".join(part for part in parts if part)


def _install(plugin: Plugin) -> str:
    extras = [name for name in plugin.factory.extra.split(",") if name]
    if not extras:
        return ""
    some = " for some of its options" if len(extras) > 1 else ""
    return f"It needs a library{some}: `pip install 'seatunnel-py[{','.join(extras)}]'`."


_TRIED = re.compile(r"^## (.+)\n\n(Declares .+)$", re.MULTILINE)


def _tried(plugin: Plugin) -> str:
    """The sections of guarantees.md about it: what each declares, and a link to what was tried."""
    text = (DOCS / "guarantees.md").read_text(encoding="utf-8")
    begin = f"source {plugin.name}" if plugin.kind is PluginKind.SOURCE else plugin.name
    found = [match for match in _TRIED.findall(text) if re.split(",| through", match[0])[0] == begin]
    if plugin.kind is PluginKind.TRANSFORM or not found:
        return ""
    rows = [
        [f"[{title}](../guarantees.md#{slug(title)})", declares.removeprefix("Declares ")] for title, declares in found
    ]
    return "Tried against real servers, with every crash point:\n\n" + table(["setup", "declares"], rows)


def slug(title: str) -> str:
    """The anchor of a heading, as the site makes it."""
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", title.lower()).strip())


def _connectors() -> str:
    rows = [
        [f"[{one.name}]({one.page.removeprefix('connectors/')}#{one.kind.value})", one.kind.value, sentence(plain(one.factory.summary))]
        for one in sorted(plugins(), key=lambda one: (one.name.lower(), one.kind.value))
        if one.kind is not PluginKind.TRANSFORM
    ]  # fmt: skip
    return f"# Connectors\n\nSources and sinks. {LIMITS_OF_EXAMPLES}\n{table(['name', 'kind', 'does'], rows)}"


def _transforms() -> str:
    rows = [
        [f"[{one.name}]({one.page.removeprefix('transforms/')})", sentence(plain(one.factory.summary))]
        for one in plugins()
        if one.kind is PluginKind.TRANSFORM
    ]
    return f"# Transforms\n\nSteps between sources and sinks. {LIMITS_OF_EXAMPLES}\n{table(['name', 'does'], rows)}"
