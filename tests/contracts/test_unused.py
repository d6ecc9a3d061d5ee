"""Every definition of the product is reached by the product.

What only tests reach belongs beside the tests, and what nothing reaches is deleted.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from vulture import Vulture

ROOT = Path(__file__).parents[2]
PRODUCT = ("seatunnel_py", "connectors", "plugins")
KEPT = {
    "__dir__": "Python calls it: names of a package that are imported on use",
    "__getattr__": "Python calls it: names of a package that are imported on use",
    "joined_by_parked": "change data capture: a table that rejoins with what was parked for it",
    "invisible": "change data capture: definitions are compared with it",
    "speed": "change data capture: the speed that a barrier asks of a source",
    "restart_identity": "change data capture: a truncation reaches the sinks with schema changes",
    "log_lag": "`jobs show` reads it as plain data",
    "parallel": "public api: a source declares it",
    "recipe": "public api: the crash sweep groups failpoints by it",
    "why_not_determinate": "tests of the query analysis read the reason",
    "debug": "an option that the command line reads before Typer does",
    "safe_prefix": "sqlglot calls it by name",
}
"""What stays although the product does not reach it, and why."""
CALLED_BY_NAME = {
    "seekable": "io",
    "readinto": "io",
    "process_renderables": "rich",
    "model_config": "pydantic",
    "__test__": "pytest",
    "_read_load_local_packet": "pymysql",
    "_read_query_result": "pymysql",
    "unbuffered_active": "pymysql",
    "seatunnel_register": "pluggy",
    "seatunnel_job_event": "pluggy",
    "isolation_level": "sqlite3",
    "impl": "sqlalchemy",
    "cache_ok": "sqlalchemy",
    "process_bind_param": "sqlalchemy",
    "_get_socket": "smtplib",
    "_gateway": "pyspark",
    "_instantiatedSession": "pyspark",
    "_activeSession": "pyspark",
    "_instantiatedContext": "pyspark",
    "QUOTES": "sqlglot",
    "IDENTIFIERS": "sqlglot",
    "STRING_ESCAPES": "sqlglot",
    "NUMERIC_LITERALS": "sqlglot",
    "FUNCTION_PARSERS": "sqlglot",
    "identifier_sql": "sqlglot",
    "literal_sql": "sqlglot",
    "trycast_sql": "sqlglot",
    "extract_sql": "sqlglot",
    "attimezone_sql": "sqlglot",
}
"""Members that a library calls or reads by their name."""


def sources() -> Iterator[Path]:
    for part in PRODUCT:
        yield from sorted((ROOT / part).rglob("*.py"))


def entry_points() -> set[str]:
    """Classes and functions that packaging names."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return {named.partition(":")[2] for group in project["entry-points"].values() for named in group.values()}


@cache
def implicit() -> frozenset[tuple[str, str]]:
    """(file, name) of what is reached without its name: options that a job file sets, values of enums, functions that
    a decorator registers, classes that a table names by module and class in one text."""
    found = set()
    for path in sources():
        text = path.read_text()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ClassDef):
                enum = any(isinstance(base, ast.Name) and base.id.endswith("Enum") for base in node.bases)
                found |= {(str(path), name) for name, is_option in fields(node) if enum or is_option}
            if isinstance(node, ast.FunctionDef) and node.decorator_list:
                found |= {(str(path), node.name)} if any(map(registers, node.decorator_list)) else set()
    return frozenset(found)


def fields(node: ast.ClassDef) -> Iterator[tuple[str, bool]]:
    """The names that a class binds, and whether each is an option of a job file."""
    for line in node.body:
        if isinstance(line, ast.AnnAssign | ast.Assign):
            is_option = isinstance(line.value, ast.Call) and called(line.value) in {"option", "Field"}
            targets = [line.target] if isinstance(line, ast.AnnAssign) else line.targets
            yield from ((target.id, is_option) for target in targets if isinstance(target, ast.Name))


def called(node: ast.expr) -> str:
    """The last part of the name of a function, called or not."""
    function = node.func if isinstance(node, ast.Call) else node
    return (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )


def registers(decorator: ast.expr) -> bool:
    """Of pydantic or Typer: called by the library."""
    return called(decorator) in {"field_validator", "model_validator", "command", "callback"}


def named_in_texts() -> set[str]:
    """Names behind a colon or alone in a text of the product: classes that are loaded only when they are needed."""
    return {
        part
        for path in sources()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 200
        for part in [node.value.rpartition(":")[2].rpartition(".")[2]]
        if part.isidentifier()
    }


@cache
def unused() -> tuple[tuple[str, str], ...]:
    """(where, name) of what is unreached."""
    vulture = Vulture()
    vulture.scavenge([str(path) for path in sources()])
    texts = named_in_texts() | entry_points()
    return tuple(
        (f"{Path(item.filename).relative_to(ROOT)}:{item.first_lineno}", item.name)
        for item in vulture.get_unused_code(min_confidence=60)
        if (str(item.filename), item.name) not in implicit()
        and item.name not in CALLED_BY_NAME
        and not (item.typ == "class" and item.name in texts)
    )


def test_everything_is_reached() -> None:
    """Delete it, move it beside the tests, or write down what it waits for."""
    assert [one for one in unused() if one[1] not in KEPT] == []


@pytest.mark.parametrize("name", KEPT)
def test_what_is_kept_is_unreached_and_there(name: str) -> None:
    """An entry that is no longer needed goes."""
    assert name in {found for _, found in unused()}
