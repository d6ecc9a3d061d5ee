"""docs/trials.md: every fault that the trials of November 2026 found, with its answer, from the rows of docs/trials/."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "docs" / "trials"
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


def answers() -> list[Answer]:
    """All rows, by part and number."""
    found = []
    for path in sorted(FOLDER.glob("*.tsv")):
        head, *lines = path.read_text().splitlines()
        assert head == COLUMNS, f"{path.name}: the columns are {head!r}"
        for line in lines:
            parts = line.split("\t")
            assert len(parts) == 4, f"{path.name}: {line!r} has {len(parts)} columns"
            fault, wrong, answer, shown_by = parts
            found.append(Answer(fault, wrong, answer, tuple(shown_by.split()), path.name))
    return sorted(found, key=lambda one: _order(one.fault))


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
    return "\n".join(
        [HEAD, "| fault | what was wrong | answer | shown by |", "|---|---|---|---|", *_rows(answers()), ""]
    )


def _rows(found: Iterable[Answer]) -> Iterable[str]:
    for one in found:
        shown = " ".join(f"`{name.rpartition('/')[2]}`" for name in one.shown_by)
        cells = [cell.replace("|", "\\|") for cell in (one.fault, one.wrong, one.answer, shown)]
        yield f"| {' | '.join(cells)} |"
