"""No option of a job file is taken and then forgotten."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

from seatunnel_py.api.options import Options

ROOT = Path(__file__).parents[2]
PACKAGES = {"seatunnel_py": ROOT, "seatunnel_connectors": ROOT / "connectors", "seatunnel_plugins": ROOT / "plugins"}
BY_TYPE = re.compile(r"^(string|tinyint|smallint|int|bigint|float|double)_(mode|template|min|max)$")
"""Options that are looked up by the name of a column's type (FakeSource)."""


def models() -> Iterator[type[Options]]:
    for package in PACKAGES:
        for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
            if re.search("option|factory|env|row_errors", module.name):
                importlib.import_module(module.name)
    waiting = [Options]
    while waiting:
        found = waiting.pop()
        waiting += found.__subclasses__()
        if found.__module__.partition(".")[0] in PACKAGES:
            yield found


def test_every_option_is_looked_at_or_says_that_it_is_only_accepted() -> None:
    """A peer's option that means nothing here says so where its options are listed; one that should mean something is
    refused or does it. What is silently forgotten gives wrong keys, or a server that is waited for as long as ever."""
    texts = [path.read_text() for package, top in PACKAGES.items() for path in (top / package).rglob("*.py")]
    looked_at = {name for text in texts for name in re.findall(r"(?:\.|[\"'])([a-z_0-9]+)\b(?!\()", text)}

    forgotten = {
        f"{model.__name__}.{name}"
        for model in models()
        if not (model.__doc__ or "").startswith("Accepted")
        for name, field in model.model_fields.items()
        if name in model.__annotations__ and name not in looked_at and not BY_TYPE.match(name)
        if not (field.description or "").startswith(("accepted", "older"))
    }

    assert forgotten == set()
