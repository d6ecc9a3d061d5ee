"""The reference of ``seatunnel_py.api``: which name stands on which page. mkdocstrings fills the pages from docstrings."""

from __future__ import annotations

import seatunnel_py.api as api

TOPICS = {
    "sources": ("Sources", ("source",)),
    "sinks": ("Sinks", ("sink",)),
    "transforms": ("Transforms", ("transform",)),
    "factories": ("Factories and capabilities", ("factory", "capabilities", "shorthand", "storage")),
    "options": ("Options", ("options", "option_rules", "step_options", "names")),
    "rows": ("Batches and elements", ("batch", "native")),
    "tables": ("Tables and types", ("schema", "types")),
}
"""Pages by file name: title, and modules of the API whose names stand there."""
REST = ("helpers", "Errors and helpers")


def pages() -> dict[str, str]:
    """Every page by its path below the site's root."""
    titles = {name: title for name, (title, _) in TOPICS.items()} | {REST[0]: REST[1]}
    return {f"api/{page}.md": _page(titles[page], names) for page, names in names_by_page().items()}


def names_by_page() -> dict[str, list[str]]:
    """Every public name on one page."""
    found: dict[str, list[str]] = {name: [] for name in (*TOPICS, REST[0])}
    for name in api.__all__:
        found[_topic(name)].append(name)
    return found


def _topic(name: str) -> str:
    module = getattr(getattr(api, name), "__module__", "") or ""
    part = module.removeprefix("seatunnel_py.api.").partition(".")[0] if module.startswith("seatunnel_py.api.") else ""
    aliases = {"Element": "batch", "Plain": "batch", "Position": "batch", "Secret": "options"}
    part = aliases.get(name, part)
    return next((page for page, (_, modules) in TOPICS.items() if part in modules), REST[0])


def _page(title: str, names: list[str]) -> str:
    blocks = "\n\n".join(f"::: seatunnel_py.api.{name}" for name in names)
    return f"# {title}\n\nImport these names from `seatunnel_py.api`.\n\n{blocks}\n"
