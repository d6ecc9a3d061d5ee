"""The house rules that a newcomer relies on: packages, names, and no import circle. `make check` runs them.

A bound here may only fall. Each exception stands in a list with its reason.
"""

from __future__ import annotations

import ast
import builtins
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PARTS = {"seatunnel_py": ROOT, "seatunnel_connectors": ROOT / "connectors", "seatunnel_plugins": ROOT / "plugins"}
PACKAGE_MODULES_MAX = 16
CIRCLES: Mapping[str, int] = {}
"""Import circles that are left, by their first module: how many modules each may have at most."""


@cache
def modules() -> Mapping[str, Path]:
    """The product's modules by their dotted names; templates are text for users."""
    return {
        ".".join(path.relative_to(top).with_suffix("").parts).removesuffix(".__init__"): path
        for part, top in PARTS.items()
        for path in sorted((top / part).rglob("*.py"))
        if "templates" not in path.parts
    }


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def classes() -> Iterator[tuple[str, ast.ClassDef]]:
    """Every class of the product, with its module."""
    for name, path in modules().items():
        yield from ((name, node) for node in ast.walk(tree(path)) if isinstance(node, ast.ClassDef))


def test_a_package_lists_what_a_reader_can_hold() -> None:
    found: dict[Path, int] = defaultdict(int)
    for path in modules().values():
        found[path.parent] += 1
    assert {str(folder): count for folder, count in found.items() if count > PACKAGE_MODULES_MAX} == {}


def test_class_names_are_unique() -> None:
    found: dict[str, list[str]] = defaultdict(list)
    for module, node in classes():
        found[node.name].append(module)
    assert {name: places for name, places in found.items() if len(places) > 1} == {}


def test_exceptions_end_in_error() -> None:
    bases = {node.name: {ast.unparse(base).rpartition(".")[2] for base in node.bases} for _, node in classes()}
    exceptions = {name for name in dir(builtins) if isinstance(getattr(builtins, name), type)}
    exceptions = {name for name in exceptions if issubclass(getattr(builtins, name), BaseException)}
    while new := {name for name, above in bases.items() if above & exceptions} - exceptions:
        exceptions |= new
    assert {name for name in exceptions & bases.keys() if not name.endswith("Error")} == set()


def test_no_import_circle() -> None:
    """Imports for type checking count: a reader follows them as well."""
    found = {min(one): len(one) for one in circles(imports())}
    assert {first: size for first, size in found.items() if size > CIRCLES.get(first, 1)} == {}


def imports() -> Mapping[str, set[str]]:
    """What each module imports of ours at its top, for types too."""
    known = modules()
    found: dict[str, set[str]] = {name: set() for name in known}
    for name, path in known.items():
        for node in top_level(tree(path).body):
            if isinstance(node, ast.ImportFrom) and node.module in known:
                named = {f"{node.module}.{one.name}" for one in node.names}
                found[name] |= (named & known.keys()) or {node.module}
            elif isinstance(node, ast.Import):
                found[name] |= {one.name for one in node.names if one.name in known}
    return found


def top_level(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements outside of functions and classes."""
    for node in body:
        yield node
        if isinstance(node, ast.If):
            yield from top_level(node.body)


def circles(graph: Mapping[str, set[str]]) -> set[frozenset[str]]:
    """The groups of modules that reach one another."""
    above = {name: reachable(graph, name) for name in graph}
    found = {frozenset(other for other in above[name] if name in above[other]) for name in graph}
    return {one for one in found if len(one) > 1}


def reachable(graph: Mapping[str, set[str]], start: str) -> set[str]:
    """The modules that a module imports, directly or not."""
    found: set[str] = set()
    waiting = [start]
    while waiting:
        new = graph[waiting.pop()] - found
        found |= new
        waiting += new
    return found
