"""Puts the web page into the wheel and into the sdist. The sdist has the bundle, so a build from it needs no Node."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).parent))
import build as page

sys.path.pop(0)


class PageBuildHook(BuildHookInterface[Any]):
    """Builds the page before files are packed; not for an editable install, where `make page` does."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the page, unless a release has brought it."""
        from_sdist = (Path(self.root) / "PKG-INFO").is_file() and (page.BUNDLE / "index.html").is_file()
        if version != "editable" and not from_sdist:
            page.build()
