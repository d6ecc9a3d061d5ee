"""A plan's text, taken apart: every line is one of those that are known here, or the reading fails."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(slots=True)
class TablePlan:
    """What the plan says of one table. ``effects``: what, on what, by which statement, and whether it destroys."""

    columns: list[str] = field(default_factory=list)
    rows: int | None = None
    splits: int = 0
    into: str = ""
    before: str = ""
    effects: list[tuple[str, str, bool]] = field(default_factory=list)
    lacking: Counter[str] = field(default_factory=Counter)
    converts: dict[str, str] = field(default_factory=dict)
    guarantee: str = ""
    problem: tuple[str, str] = ("", "")


@dataclass(slots=True)
class PlanText:
    job: str
    pipelines: int
    isolated_count: int
    tables_count: int = 0
    rows: int | None = None
    becomes: dict[str, int] = field(default_factory=dict)
    guarantees: list[str] = field(default_factory=list)
    shared: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, tuple[int, list[str]]] = field(default_factory=dict)
    converted: tuple[int, int, int] = (0, 0, 0)
    tables: dict[str, TablePlan] = field(default_factory=dict)
    isolated: dict[str, tuple[str, str]] = field(default_factory=dict)


_HEAD = re.compile(r"(.+) \(batch\): (\d+) pipelines?, (\d+) vert(?:ex|ices)(?:, (\d+) tables? isolated)?")
_TABLES = re.compile(r"(\d+) tables?(?:, about ([\d,]+) rows?)?")
_SHARED = re.compile(r"  effect     (.+) \(for (\d+) tables?\)")
_LEFT_OUT = re.compile(r"note: \S+ leaves out (\d+) \((.+?)(?:; kinds = \S+ reads them)?\): (.+)")
_CONVERTED = re.compile(
    r"(\d+) columns? of (\d+) tables? arrives? in another form, (\d+) of them after a test of each value"
)
_VERTEX = re.compile(r"  vertex     (\S+?)\[(.+)\] -> (\S+?)\[(.+)\]  \(parallelism \d+\)")
_KIND = re.compile(r"(\d+) ([a-z ]+?) \((?:[^()]|\([^()]*\))*\)(?:, |$)")


def parsed(text: str) -> PlanText:
    """AssertionError names a line that nobody knows."""
    head, *others = (part.splitlines() for part in text.split("\n\n"))
    found = _HEAD.fullmatch(head[0])
    assert found and found[2] == found[3], head[0]
    plan = PlanText(found[1], int(found[2]), int(found[4] or 0))
    for line in head[1:]:
        _of_all(plan, line)
    for lines in others:
        if isolated := re.fullmatch(r"ISOLATED: (.+) \(\S+\)", lines[0]):
            assert isolated[1] not in plan.isolated, f"told twice: {lines[0]}"
            plan.isolated[isolated[1]] = _problem(iter(lines[1:]))
        else:
            named = re.fullmatch(r"pipeline p\d+: (.+)", lines[0])
            assert named and named[1] not in plan.tables, lines[0]
            plan.tables[named[1]] = _table(named[1], iter(lines[1:]))
    return plan


def _of_all(plan: PlanText, line: str) -> None:
    if found := _TABLES.fullmatch(line):
        plan.tables_count, plan.rows = int(found[1]), found[2] and int(found[2].replace(",", ""))
    elif line.startswith("  targets    "):
        plan.becomes = {what: int(times) for times, what in (one.split(" ") for one in line[13:].split(", "))}
    elif line.startswith("  guarantee  "):
        plan.guarantees.append(line[13:])
    elif found := _SHARED.fullmatch(line):
        plan.shared[found[1]] = int(found[2])
    elif found := _LEFT_OUT.fullmatch(line):
        plan.left_out[found[2]] = int(found[1]), found[3].split(", ")
    elif found := _CONVERTED.fullmatch(line):
        plan.converted = int(found[1]), int(found[2]), int(found[3])
    else:
        raise AssertionError(f"a sentence that nobody knows: {line!r}")


def _table(name: str, lines: Iterator[str]) -> TablePlan:
    table = TablePlan()
    vertex = _VERTEX.fullmatch(next(lines))
    assert vertex and vertex[2] == vertex[4] == name, name
    for line in lines:
        word, _, rest = line.strip().partition(" ")
        rest = rest.strip()
        match word:
            case "columns":
                table.columns = re.findall(r"(?:^|(?<=, ))(.+?) [a-z_0-9]+(?:\([\d, ]+\)|<[^>]+>)*(?:, |$)", rest)
            case "rows":
                table.rows = int(rest.removeprefix("about ").replace(",", ""))
            case "splits":
                table.splits = int(rest.partition(":")[0])
            case "into":
                at = re.fullmatch(r"(.+): (new|appended to .+|updated by key \(.+|replaced \(.+)", rest)
                table.into, table.before = (at[1], at[2]) if at else (rest, "")
            case "effect" | "DESTROYS":
                statement = next(lines)
                assert statement.startswith(" " * 13), statement
                table.effects.append((rest, statement.strip(), word == "DESTROYS"))
            case "not":
                said = rest.removeprefix("carried over: ")
                assert "".join(one[0] for one in _KIND.finditer(said)) == said, said
                table.lacking = Counter({_one(one[2]): int(one[1]) for one in _KIND.finditer(said)})
            case "converts":
                column, _, how = rest.partition(": ")
                table.converts[column] = how
            case "guarantee":
                table.guarantee = rest
            case "PROBLEM":
                table.problem = rest, next(lines).strip().removeprefix("remedy: ")
            case _:
                raise AssertionError(f"a sentence that nobody knows: {line!r}")
    return table


def _problem(lines: Iterator[str]) -> tuple[str, str]:
    problem, remedy, *others = lines
    assert problem.startswith("    PROBLEM  ") and remedy.startswith("             remedy: ") and not others
    return problem.removeprefix("    PROBLEM  "), remedy.removeprefix("             remedy: ")


def _one(kinds: str) -> str:
    several = {"indexes": "index", "identities": "identity"}
    return several.get(kinds, kinds.removesuffix("s"))
