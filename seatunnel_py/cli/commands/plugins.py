"""Implements ``seatunnel plugins``: lists the installed plugins and their options."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from seatunnel_py.cli.view.files import writing
from seatunnel_py.cli.view.terminal import Styled, say, say_document, say_json
from seatunnel_py.config.job_schema import PluginOptions, job_schema
from seatunnel_py.errors import ExitCode, SeaTunnelError
from seatunnel_py.plan.plugins.installed import installed
from seatunnel_py.plan.plugins.plugin_rows import plugin_rows, plugins_named


def listing(*, as_json: bool) -> int:
    """List all plugins by kind, with their distribution and a line about each."""
    rows = plugin_rows()
    if as_json:
        say_json(rows)
        return ExitCode.SUCCESS
    for row in rows:
        say(f"{row['kind']:10} {row['name']:18} {row['summary']}  [{row['distribution']}]")
    return ExitCode.SUCCESS


def show(name: str, *, as_json: bool) -> int:
    """Show the options of every plugin of that name: a source and a sink may share one."""
    found = plugins_named(name)
    if as_json:
        say_json(found, default=str)
        return ExitCode.SUCCESS
    for plugin in found:
        say(Styled(f"{plugin['kind']} {plugin['name']}", bold=True), f"  {plugin['summary']}")
        for option in plugin["options"]:
            say(_option_line(option))
    return ExitCode.SUCCESS


def schema(to: Path | None) -> int:
    """Print the JSON Schema of job files for the installed plugins; plugins that cannot be loaded are omitted."""
    registry = installed()
    plugins = []
    for entry in registry.entries():
        try:
            factory: Any = registry.loaded(entry)
        except SeaTunnelError as error:
            say(f"skipped: {error}", err=True)
            continue
        plugins.append(PluginOptions(entry.kind.value, entry.name, factory.summary, factory.options))
    text = json.dumps(job_schema(plugins), indent=1, ensure_ascii=False)
    if to is None:
        say_document(text)
        return ExitCode.SUCCESS
    with writing(to):
        to.write_text(f"{text}\n", encoding="utf-8")
    say(f'wrote {to}: options of {len(plugins)} plugins; name it in a job file in JSON as "$schema"')
    return ExitCode.SUCCESS


def _option_line(option: dict[str, Any]) -> str:
    given = f"default {option['default']!r}" if option["default"] else "optional"
    default = "required" if option["required"] else given
    older = f" (older: {', '.join(option['fallback'])})" if option["fallback"] else ""
    return f"  {option['key']:34} {option['type']:22} {default}{older}  {option['doc']}"
