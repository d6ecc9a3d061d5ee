"""Pages of faults and the answer to each: docs/NAME.md, from the rows of docs/NAME.tsv."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.docs.trials import ROOT, Answer, answers_in, page_of

CDC_HEAD = """# Faults of change data capture

Programs that follow the changes of PostgreSQL, MariaDB and MySQL have had these faults, as their public source code and
reports show. `shown` names tests that show the right behaviour, on real servers where they can. `encoder` means that
only MySQL itself has this form: the tests read bytes that an encoder makes, and no server of MySQL has run. A `decision`
gives the reason for another behaviour. Generated from `docs/cdc-faults.tsv` by
`make pages`; a test compares, and checks that every test exists and quotes the number of its fault.
"""
OPERATION_HEAD = """# Faults of operation

Faults of the server and its page, and the answer to each. O: processes, disks and clocks fail. T: threats. A: the page in
a real browser. U: faults of other products, as their public reports show. `shown` names tests that show the right
behaviour; `open` names the missing part; a `decision` gives the reason for another behaviour. Generated from
`docs/operation-faults.tsv` by `make pages`; a test compares, and checks that every test exists and quotes the number of
its fault.
"""
OPERATION_NUMBERS = {"O": 33, "T": 20, "A": 32, "U": 47}


@dataclass(frozen=True, slots=True)
class FaultTable:
    """A page. ``required``: the numbers of its faults, in order; ``reasoned``: kinds of answers that need a reason."""

    name: str
    head: str
    required: Sequence[str]
    reasoned: tuple[str, ...]

    def answers(self) -> list[Answer]:
        return answers_in([ROOT / "docs" / f"{self.name}.tsv"])

    def page(self) -> str:
        """The page."""
        return page_of(self.head, self.answers())


CDC = FaultTable("cdc-faults", CDC_HEAD, [f"F-C{number}" for number in range(1, 62)], ("encoder", "decision"))
OPERATION = FaultTable(
    "operation-faults",
    OPERATION_HEAD,
    [f"{part}{number}" for part, last in OPERATION_NUMBERS.items() for number in range(1, last + 1)],
    ("decision",),
)
