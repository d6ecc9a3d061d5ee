"""The files of the web page: its start page and its assets, as `make page` or a release has built them.

Rules. (1) A name from a client is looked up in a table, and never joined to a path. (2) The files are read once; again
only after another build. (3) Addresses in the start page are relative to the page that shows it, because a proxy may
serve everything below a path of its own. (4) An asset has the hash of its content in its name, so a browser may keep
it; the start page is compared at each visit.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

FOLDER = Path(__file__).parents[1] / "page"
START = "index.html"
ASSETS = "assets"
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}


@dataclass(frozen=True, slots=True)
class PageFile:
    """A file of the page. ``packed``: the same with gzip; ``tag``: of its content."""

    data: bytes
    packed: bytes
    media_type: str
    tag: str

    @classmethod
    def of(cls, data: bytes, suffix: str) -> PageFile:
        """A file with this content."""
        tag = hashlib.sha256(data).hexdigest()[:16]
        return cls(data, gzip.compress(data, 9, mtime=0), _TYPES[suffix], tag)


@dataclass(slots=True)
class PageFiles:
    """The built page in ``folder``. Methods may be called from any thread."""

    folder: Path = FOLDER
    _built: int = 0
    _assets: Mapping[str, PageFile] = field(default_factory=dict)
    _starts: dict[int, PageFile] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def start(self, depth: int) -> PageFile | None:
        """The start page for an address that is ``depth`` folders below that of the server; None: it is not built."""
        with self._lock:
            if not self._look():
                return None
            if depth not in self._starts:
                text = (self.folder / START).read_text(encoding="utf-8")
                above = "../" * depth
                text = text.replace(f'"./{ASSETS}/', f'"{above or "./"}{ASSETS}/')
                self._starts[depth] = PageFile.of(text.encode(), ".html")
            return self._starts[depth]

    def asset(self, name: str) -> PageFile | None:
        """An asset; None: there is none of that name."""
        with self._lock:
            return self._assets.get(name) if self._look() else None

    def _look(self) -> bool:
        """Read the files if there are others than before. Returns whether the page is there."""
        try:
            built = (self.folder / START).stat().st_mtime_ns
        except OSError:
            return False
        if built != self._built:
            found = sorted((self.folder / ASSETS).iterdir())
            self._assets = {one.name: PageFile.of(one.read_bytes(), one.suffix) for one in found}
            self._starts.clear()
            self._built = built
        return True
