"""docs/cdc-faults.md: faults of other programs that follow changes, and the answer to each, from docs/cdc-faults.tsv."""

from __future__ import annotations

from tests.docs.trials import ROOT, Answer, answers_in, page_of

FILE = ROOT / "docs" / "cdc-faults.tsv"
REQUIRED = [f"F-C{number}" for number in range(1, 62)]
HEAD = """# Faults of change data capture

Programs that follow the changes of PostgreSQL, MariaDB and MySQL have had these faults, as their public source code and
reports show. `shown` names tests that show the right behaviour, on real servers where they can. `encoder` means that
only MySQL itself has this form: the tests read bytes that an encoder makes, and no server of MySQL has run. A `decision`
gives the reason for another behaviour. Generated from `docs/cdc-faults.tsv` by
`make pages`; a test compares, and checks that every test exists and quotes the number of its fault.
"""


def faults() -> list[Answer]:
    return answers_in([FILE])


def page() -> str:
    """The page."""
    return page_of(HEAD, faults())
