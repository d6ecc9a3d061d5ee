"""Joins MkDocs and the generated pages: adds them, fills their places in the navigation, mends links that leave docs/.

MkDocs calls the functions by their names (`hooks` in mkdocs.yml). Nothing is written into docs/.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from tests.docs.site import api_pages, cli_page, env_page, events_page, plugin_pages, rest_page

ROOT = Path(__file__).parents[3]
OUTSIDE = {
    "bench.md": "bench/README.md",
    "changelog.md": "CHANGELOG.md",
    "security.md": "SECURITY.md",
}
"""Pages of the site that lie outside of docs/."""


@cache
def generated() -> dict[str, str]:
    """Every page that no file of docs/ holds, by its path below the site's root."""
    outside = {page: (ROOT / path).read_text(encoding="utf-8") for page, path in OUTSIDE.items()}
    return {
        **plugin_pages.pages(),
        **api_pages.pages(),
        "reference/cli.md": cli_page.page(),
        "reference/env.md": env_page.page(),
        "reference/events.md": events_page.page(),
        "reference/rest.md": rest_page.page(),
        **outside,
    }


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """A folder in the navigation (``connectors/``) stands for its generated pages."""
    config.nav = [_filled(entry) for entry in config.nav or ()]
    return config


def _filled(entry: Any) -> Any:
    if isinstance(entry, dict):
        return {title: _filled(inner) for title, inner in entry.items()}
    if isinstance(entry, list):
        return [_filled(inner) for inner in entry]
    if str(entry).endswith("/"):
        names = [name for name in generated() if name.startswith(entry)]
        return sorted(names, key=lambda name: (not name.endswith("/index.md"), name)) if entry != "api/" else names
    return entry


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for path, text in generated().items():
        files.append(File.generated(config, path, content=text))
    return files


_LINK = re.compile(r"\[([^\]]*)\]\((\.\./[^)#\s]+|[A-Z][\w./-]*\.md)(#[^)]*)?\)")
_STATE = re.compile(r"^\s*(\S+) --> (\S+?)(?:\s*:\s*(.*))?$", re.MULTILINE)


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links to files outside of docs/ become links to their pages, or code. Diagrams of states become tables."""
    if page.file.src_uri not in generated() or page.file.src_uri in OUTSIDE:
        markdown = _LINK.sub(lambda link: _link(link, page.file.src_uri), markdown)
    return re.sub(r"```mermaid\n(stateDiagram.*?)```\n", lambda chart: _states(chart[1]), markdown, flags=re.DOTALL)


def _link(link: re.Match[str], source: str) -> str:
    """Resolve a link: paths are relative to the file in the repository."""
    folder = Path(OUTSIDE.get(source, f"docs/{source}")).parent
    target = (ROOT / folder / link[2]).resolve()
    if not target.is_relative_to(ROOT):
        raise ValueError(f"{source}: the link {link[0]} leads out of the repository")
    path = target.relative_to(ROOT).as_posix()
    for page, other in OUTSIDE.items():
        if path == other:
            return f"[{link[1]}]({page}{link[3] or ''})"
    if path.startswith("docs/") and source in OUTSIDE:
        return f"[{link[1]}]({path.removeprefix('docs/')}{link[3] or ''})"
    if not target.exists() and path.removeprefix("docs/") not in generated():
        raise ValueError(f"{source}: the link {link[0]} leads to {path}, which is not there")
    return link[0] if path.startswith("docs/") else f"{link[1]} (`{path}`)"


def _states(chart: str) -> str:
    """The arrows of a state diagram as a table. ``[*]`` is the beginning or the end."""
    rows = [
        f"| {'(begin)' if before == '[*]' else before} | {event or ''} | {'(end)' if after == '[*]' else after} |\n"
        for before, after, event in _STATE.findall(chart)
    ]
    return "\n| state | event | next state |\n| --- | --- | --- |\n" + "".join(rows) + "\n"


_ROLE = re.compile(r":(?:func|class|meth|mod|data):(<code>)")


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Docstrings say ``:func:`` and ``::`` as Sphinx takes them."""
    return _ROLE.sub(r"\1", html.replace("::</p>", ":</p>"))
