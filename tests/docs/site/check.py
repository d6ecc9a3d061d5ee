"""Checks the built site: ``python -m tests.docs.site.check .site``.

Every link and image leads to a file of the site, every anchor is there, and nothing is loaded from elsewhere: scripts,
styles, fonts and images come from the site itself. Links that people follow to other sites are left alone.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}
"""Attributes whose address the browser opens by itself."""
NOT_OPENED = {"canonical", "next", "prev", "edit"}
"""Relations of ``link`` that the browser does not open."""
_IN_STYLES = re.compile(r"(?:url\(|@import\s+)\s*['\"]?(https?:)?//", re.IGNORECASE)


@dataclass
class Page(HTMLParser):
    """The links, the addresses that are loaded, and the anchors of one page."""

    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if given.get(name)}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag == "pre" and "mermaid" in given.get("class", "").split():
            self.loaded.append("//unpkg.com/mermaid")  # Material's script does, where a page has such a diagram
        elif (name := LOADED.get(tag, "")) in given and given.get("rel") not in NOT_OPENED:
            self.loaded.append(given[name])


def problems(site: Path) -> Iterator[str]:
    """Everything that is wrong with a built site, a sentence each."""
    pages = {path: _parsed(path) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        name = path.relative_to(site)
        for address in page.loaded:
            if urlsplit(address).netloc:
                yield f"{name}: loads {address} from elsewhere"
        for address in (*page.links, *page.loaded):
            if wrong := _broken(address, path, pages, site):
                yield f"{name}: {address}: {wrong}"
    for path in sorted(site.rglob("*.css")):
        if _IN_STYLES.search(path.read_text(encoding="utf-8")):
            yield f"{path.relative_to(site)}: loads something from elsewhere"


def _parsed(path: Path) -> Page:
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def _broken(address: str, path: Path, pages: dict[Path, Page], site: Path) -> str:
    """Empty where the address leads somewhere, or to another site."""
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        return ""
    folder, way = (site, parts.path.lstrip("/")) if parts.path.startswith("/") else (path.parent, parts.path)
    target = (folder / unquote(way)).resolve() if parts.path else path
    target = target / "index.html" if target.is_dir() else target
    if not target.exists():
        return "there is no such file"
    anchor = unquote(parts.fragment)
    if anchor and not anchor.startswith("__") and target in pages and anchor not in pages[target].anchors:
        return "there is no such anchor"
    return ""


def main() -> int:
    site = Path(sys.argv[1]).resolve()
    found = list(problems(site))
    for problem in found:
        print(problem)
    pages = len(list(site.rglob("*.html")))
    print(f"{pages} pages, {len(found)} problems" if found else f"{pages} pages: every link and anchor leads somewhere")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
