"""docs/operation-faults.md: faults of operation, and the answer to each, from docs/operation-faults.tsv."""

from __future__ import annotations

from tests.docs.trials import ROOT, Answer, answers_in, page_of

FILE = ROOT / "docs" / "operation-faults.tsv"
NUMBERS = {"O": 32, "T": 20, "A": 32, "U": 47}
REQUIRED = [f"{part}{number}" for part, last in NUMBERS.items() for number in range(1, last + 1)]
HEAD = """# Faults of operation

Faults of the server and its page, and the answer to each. O: processes, disks and clocks fail. T: threats. A: the page in
a real browser. U: faults of other products, as their public reports show. `shown` names tests that show the right
behaviour; `open` names the missing part; a `decision` gives the reason for another behaviour. Generated from
`docs/operation-faults.tsv` by `make pages`; a test compares, and checks that every test exists and quotes the number of
its fault.
"""


def faults() -> list[Answer]:
    return answers_in([FILE])


def page() -> str:
    """The page."""
    return page_of(HEAD, faults())
