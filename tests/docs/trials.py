"""docs/trials.md: every fault that the trials of November 2026 found, with its answer, from the rows of docs/trials/."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "trials"
COLUMNS = "fault\twhat was wrong\tanswer\tshown by"

HEAD = """# Faults that trials found

Before this release the product was tried as new users, connector authors and attackers would (November 2026). Each
fault has a row. Part 1 (P1) is a data engineer's day, part 2 (P2) connectors by third parties, part 3 (P3) public bug
reports and own traps. Part 4 (P4) are attacks, and part 5 (P5) further attacks when these were mended. T1 to T44 are
silent changes of values. `fixed` names tests that failed before; a `decision` gives the reason why the behaviour stays;
`open` names the missing part. Generated from `docs/trials/*.tsv` by `make pages`; a test compares, and checks that
every test exists.
"""


@dataclass(frozen=True, slots=True)
class Answer:
    """One row: ``shown_by`` are tests (``path::name``) or pages."""

    fault: str
    wrong: str
    answer: str
    shown_by: tuple[str, ...]
    file: str

    @property
    def kind(self) -> str:
        return self.answer.partition(":")[0]

    @property
    def tests(self) -> list[tuple[str, str]]:
        """Files and functions."""
        pairs = (shown.partition("::") for shown in self.shown_by if "::" in shown)
        return [(path, name.partition("[")[0].rpartition("::")[2]) for path, _, name in pairs]

    def require_shown(self, without_reason: str, *with_reason: str) -> None:
        """Check that the answer is of one of these kinds, and that what it names exists. The first kind needs a test,
        the others need a reason."""
        kind, _, reason = self.answer.partition(":")
        assert kind == without_reason or (kind in with_reason and len(reason.split()) > 2), self.answer
        assert self.shown_by, f"{self.fault} is shown by nothing"
        for shown in self.shown_by:
            path = shown.partition("::")[0].partition("#")[0]
            assert (ROOT / path).exists(), f"{self.fault}: there is no {path}"
        for path, name in self.tests:
            assert name in functions(path), f"{self.fault}: {path} has no {name}"
        assert kind != without_reason or self.tests, f"{self.fault} is shown by no test"


@cache
def functions(path: str) -> dict[str, str]:
    """The source of each function and class of a file, by name."""
    text = (ROOT / path).read_text()
    lines = text.splitlines()
    return {
        node.name: "\n".join(lines[node.lineno - 1 : node.end_lineno])
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }


def answers() -> list[Answer]:
    """All rows of the trials, by part and number."""
    return sorted(answers_in(sorted(FOLDER.glob("*.tsv"))), key=lambda one: _order(one.fault))


def answers_in(paths: Iterable[Path]) -> list[Answer]:
    """The rows of these files, as they stand there."""
    found = []
    for path in paths:
        head, *lines = path.read_text().splitlines()
        assert head == COLUMNS, f"{path.name}: the columns are {head!r}"
        for line in lines:
            parts = line.split("\t")
            assert len(parts) == 4, f"{path.name}: {line!r} has {len(parts)} columns"
            fault, wrong, answer, shown_by = parts
            found.append(Answer(fault, wrong, answer, tuple(shown_by.split()), path.name))
    return found


def required() -> set[str]:
    """Faults with a number of their own; rows of part 1 have names."""
    parts = {
        "P2-F": range(1, 11),
        "P2-": range(11, 15),
        "P3-F": (*range(1, 8), 10),
        "P3-A": (*range(1, 6), *range(7, 13)),
        "P4-F": range(1, 11),
        "T": range(1, 45),
    }
    return {f"{part}{number}" for part, numbers in parts.items() for number in numbers} | {"P4-F1b", "P9-modulo"}


def _order(fault: str) -> tuple[str, int, str]:
    part, _, rest = fault.partition("-") if "-" in fault else (fault[:1], "", fault[1:])
    digits = "".join(letter for letter in rest if letter.isdigit())
    return part, int(digits) if digits and rest[:1] in "FA0123456789" else 0, fault


def page() -> str:
    """The page."""
    return page_of(HEAD, answers())


def page_of(head: str, found: Iterable[Answer]) -> str:
    return "\n".join([head, "| fault | what was wrong | answer | shown by |", "|---|---|---|---|", *_rows(found), ""])


def _rows(found: Iterable[Answer]) -> Iterable[str]:
    for one in found:
        shown = " ".join(f"`{name.rpartition('/')[2]}`" for name in one.shown_by)
        cells = [cell.replace("|", "\\|") for cell in (one.fault, one.wrong, one.answer, shown)]
        yield f"| {' | '.join(cells)} |"
