"""The commands of a page about the server, to be run as a reader would."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from string import Template

import httpx

PAGES = Path(__file__).parents[2] / "docs" / "how-to"


def blocks(page: str, kind: str) -> list[str]:
    """The blocks of this kind on a page, in order."""
    text = (PAGES / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{kind}\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


def lines(page: str) -> list[str]:
    """The command lines of a page, in order."""
    return [line for block in blocks(page, "sh") for line in block.splitlines()]


def curl(line: str, places: dict[str, str]) -> httpx.Response:
    """Send what curl would send."""
    words, headers, body = shlex.split(line)[1:], {}, None
    while words[0] in ("-H", "-d"):
        if words[0] == "-H":
            name, _, value = Template(words[1]).substitute(places).partition(": ")
            headers[name] = value
        else:
            body = words[1]
        words = words[2:]
    url = Template(words[0]).substitute(places).replace("http://127.0.0.1:5801", places["server"])
    return httpx.request("POST" if body else "GET", url, headers=headers, content=body, timeout=30, trust_env=False)
