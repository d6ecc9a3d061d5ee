"""The protocol's pages are what the shipping code says today, and what they name is there."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

import pytest

from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.protocol.model.lifecycle import LIFE
from seatunnel_py.protocol.model.reasons import Reason
from seatunnel_py.protocol.participant.participant import Participant
from tests.docs import walk
from tests.docs.pages import DOCS, PAGES
from tests.docs.small_world import SmallWorld
from tests.protocol.reference.commit_life import CRASH_POINTS

ROOT = DOCS.parent
PROTOCOL = ROOT / "seatunnel_py" / "protocol"
PROTOCOL_TESTS = ROOT / "tests" / "protocol"


@pytest.mark.parametrize("name", PAGES)
def test_a_generated_page_is_up_to_date(name: str) -> None:
    """Tables and machines are drawn as they are: `make pages` writes the page anew."""
    assert (DOCS / name).read_text() == PAGES[name]()


@pytest.mark.parametrize("name", [name for name in PAGES if name.startswith("protocol")])
def test_a_chart_has_nothing_that_would_end_a_line_early(name: str) -> None:
    """A semicolon or a number sign means something to mermaid."""
    charts = re.findall(r"```mermaid\n(.*?)```", PAGES[name](), flags=re.DOTALL)

    assert charts
    assert [line for chart in charts for line in chart.splitlines() if ";" in line or "#" in line] == []


def test_every_reason_and_every_crash_point_is_on_the_page() -> None:
    """A table is drawn whole."""
    text = PAGES["protocol-states.md"]()

    assert [reason.name for reason in Reason if f"| {reason.name} |" not in text] == []
    assert [name for name, *_ in CRASH_POINTS if name not in text] == []


def test_a_participant_lives_as_its_picture_shows() -> None:
    """In runs with failures: no step of a life that the table does not hold, and each that it holds is taken."""
    seen = {("READY", "READY"), ("READY", "FAILED")}  # a restart of a restart, and a journal that does not fit
    for seed in range(5):
        world = SmallWorld(walk.SIBLINGS, walk.SETTINGS, walk.SECONDS, {"src": 7}, fails=("bad", 1 + seed))
        watched = dict(world.participants)
        before = {name: one.life.name for name, one in watched.items()}

        def look(watched: Mapping[Subtask, Participant] = watched, before: dict[Subtask, str] = before) -> None:
            for name, one in watched.items():
                if one.life.name != before[name]:
                    seen.add((before[name], one.life.name))
                before[name] = one.life.name

        world.watch = look
        world.run()

    table = {(state.name, after.name) for state, row in LIFE.items() for after in row.values()}
    assert seen == table


# ---------------------------------------------------------------- what the walk says of its charts


def in_order(lines: Sequence[str], *wanted: str) -> bool:
    """Each is there, behind the one before it."""
    rest = iter(lines)
    return all(any(line.startswith(one) for line in rest) for one in wanted)


CHECKPOINT_CLAIMS = {
    "the rows under way are before the barrier": (
        "left->>join: batch 3",
        "left->>join: barrier 2",
        "Note over join: holds left back",
        "left->>join: batch 4",
        "right->>join: batch 2",
        "right->>join: barrier 2",
        "Note over join: snapshot of 2, left up to 3, right up to 2",
        "Note over join: unit 6 takes batch 4 of left",
    ),
    "nothing is said before the record is durable": (
        "out->>coordinator: acknowledges 2",
        "coordinator->>store: record 2",
        "store-->>coordinator: record 2 is durable",
        "coordinator->>target: commit 2 of out",
        "coordinator->>left: checkpoint 2 is completed",
    ),
}
RESTART_CLAIMS = {
    "what is pending is given up first": (
        "coordinator->>src: trigger 3",
        "Note over bad: unit 5 fails",
        "Note over bad: drops batch 7 of src: that life is over",
        "bad->>coordinator: failed",
        "Note over coordinator: checkpoint 3 is given up",
        "coordinator->>good: src lives in epoch 2",
        "coordinator->>src: epoch 2, from checkpoint 2, journal 4, 5, 6, 7",
    ),
    "the journal makes the same batches": (
        "coordinator->>src: start",
        "Note over src: unit 4 reads row 4 again",
        "Note over good: drops batch 4 of src: it is there",
        "src->>bad: batch 4",
        "Note over bad: unit 4 takes batch 4 of src",
    ),
    "both lives' pieces are committed with the next checkpoint": (
        "Note over coordinator: checkpoint 4 is completed",
        "coordinator->>target: commit 4 of bad: bad/2/4, bad/2/5, bad/2/6, bad/2/7",
        "coordinator->>target: commit 4 of good: good/1/4, good/1/5, good/1/6, good/1/7",
    ),
    "success is said at the very end": (
        "coordinator->>src: trigger 5",
        "target-->>coordinator: the ledger of good holds 4",
        "store-->>coordinator: record 5 is durable",
        "Note over coordinator: the pipeline has ended: success",
    ),
}


@pytest.mark.parametrize(
    ("run", "claim"),
    [
        *((walk.checkpoint_run, claim) for claim in CHECKPOINT_CLAIMS.values()),
        *((walk.restart_run, claim) for claim in RESTART_CLAIMS.values()),
    ],
    ids=[*CHECKPOINT_CLAIMS, *RESTART_CLAIMS],
)
def test_the_walk_tells_what_its_charts_show(run: Callable[[], SmallWorld], claim: Sequence[str]) -> None:
    """The sentences are written by hand, so that their order of events is checked."""
    assert in_order(run().lines, *claim)


def test_the_survivor_of_the_walk_lives_on() -> None:
    """`good` begins one life only."""
    assert [line for line in walk.restart_run().lines if re.match(r"coordinator->>good: epoch", line)] == [
        "coordinator->>good: epoch 1, from checkpoint 1"
    ]


@pytest.mark.parametrize("run", [walk.checkpoint_run, walk.restart_run])
def test_the_runs_of_the_walk_end_well(run: Callable[[], SmallWorld]) -> None:
    """Each row is visible once in each sink; the charts are of no lucky moment."""
    world = run()
    sinks = [vertex.id for vertex in world.topology.vertices if vertex.sink is walk.SINK]
    rows = {f"{name}{row}" for name, count in world.units.items() for row in range(1, count + 1)}

    assert world.ended is not None
    assert world.ended.reason is None
    assert Counter(world.visible) == Counter(dict.fromkeys(rows, len(sinks)))


# ---------------------------------------------------------------- protocol.md


def test_the_theory_lists_every_file_of_the_protocol_with_its_rules() -> None:
    """Nothing is missing in the table of files, and a rule letter on the page is the one in the file."""
    table = (DOCS / "protocol.md").read_text().partition("## The files")[2]
    told = dict(re.findall(r"^\| `([\w/]+\.py)` \| ([A-Z]*) \|", table, flags=re.MULTILINE))

    product = {str(path.relative_to(PROTOCOL)): path for path in PROTOCOL.rglob("*.py") if path.name != "__init__.py"}
    reference = {str(path.relative_to(ROOT)): path for path in (PROTOCOL_TESTS / "reference").glob("*.py")}

    assert told == {name: rules_of(path) for name, path in (product | reference).items()}


def rules_of(path: Path) -> str:
    """The letters of a file's rules, where it states some."""
    text = ast.get_docstring(ast.parse(path.read_text())) or ""
    found = re.search(r"Rules[^(]*\(([A-Z]+)\d+\)", text)
    return found.group(1) if found else ""


@pytest.mark.parametrize("page", ["protocol.md", "origins.md", *PAGES])
def test_what_a_page_names_is_there(page: str) -> None:
    """Files, and pages that it links to."""
    text = (DOCS / page).read_text()
    files = {name for name in re.findall(r"`([\w./-]+\.(?:py|pml|md))`", text) if "/" in name}
    links = set(re.findall(r"\]\(([\w.-]+\.md)\)", text))

    assert [name for name in files if not ((ROOT / name).exists() or (PROTOCOL / name).exists())] == []
    assert [link for link in links if not (DOCS / link).exists()] == []


# ---------------------------------------------------------------- origins.md


@cache
def defined(path: Path) -> frozenset[str]:
    """The test functions and classes of a file."""
    tree = ast.parse(path.read_text())
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef))


def rows(heading: str) -> dict[str, str]:
    """Id -> the last cell of its row, below this heading."""
    section = (DOCS / "origins.md").read_text().partition(f"## {heading}")[2].partition("\n## ")[0]
    return {
        cells[0].strip(): cells[-1].strip()
        for cells in (line.strip("|").split("|") for line in section.splitlines() if re.match(r"\| [OI]\d", line))
    }


def references(cell: str) -> list[tuple[str, str]]:
    return re.findall(r"`([\w/.]+\.py)::(\w+)`", cell)


ORIGINS = [
    f"O{part}.{number}"
    for part, last in ((1, 8), (2, 1), (3, 4), (4, 12), (5, 9), (6, 2))
    for number in range(1, last + 1)
]
LATER = {"O3.3", "O5.8", "O5.9"}
"""Engine features, curves and what is around the engine: no matter of the protocol."""


SIMULATED = {*range(1, 50)} - {4, 6, 16, 19, 29, 31, 32, 36, 38, 42}
"""The invariants that a simulation or a model can see."""


def test_every_origin_has_a_row_and_those_of_the_protocol_a_test() -> None:
    """What the project embodies runs."""
    found = rows("Origins")

    assert list(found) == ORIGINS
    assert [name for name, cell in found.items() if not references(cell) and name not in LATER] == []
    assert [name for name in LATER if not found[name].startswith("later")] == []


def test_every_invariant_has_a_row_and_a_checker() -> None:
    """Those that speak of the model, the simulation or an assertion; the others are of real processes."""
    found = rows("Invariants")

    assert list(found) == [f"I{number}" for number in range(1, 51)]
    assert [name for name, cell in found.items() if not references(cell) and not cell.startswith("later")] == []


def test_what_a_simulation_can_see_has_a_checker_named_after_it() -> None:
    """So that a violation says at once what is broken."""
    found = rows("Invariants")
    named = {
        number
        for number in SIMULATED
        if any(re.match(rf"(test_i|I){number}(?!\d)", name) for _, name in references(found[f"I{number}"]))
    }

    assert SIMULATED - named == set()


@pytest.mark.parametrize("heading", ["Origins", "Invariants"])
def test_every_test_that_a_table_names_exists(heading: str) -> None:
    """A map to nothing is worse than none."""
    named = [(name, file, test) for name, cell in rows(heading).items() for file, test in references(cell)]
    missing = [
        (name, file, test)
        for name, file, test in named
        if not (ROOT / "tests" / file).exists() or test not in defined(ROOT / "tests" / file)
    ]

    assert missing == []


def test_a_checker_named_after_an_invariant_stands_in_its_row() -> None:
    """A new checker is found here."""
    found = rows("Invariants")
    checkers = [
        (f"checks/{file.name}", name)
        for file in sorted((ROOT / "tests" / "simulation" / "checks").glob("*.py"))
        for name in sorted(defined(file))
        if re.match(r"I\d+[A-Z]", name)
    ]

    assert checkers
    assert [
        name
        for file, name in checkers
        if (f"simulation/{file}", name) not in references(found[re.match(r"I\d+", name)[0]])  # type: ignore[index]
    ] == []
