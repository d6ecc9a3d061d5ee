"""The generated pages of docs/: ``python -m tests.docs.pages`` writes them, a test compares."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from tests.docs import fault_tables, states, trials, walk

DOCS = Path(__file__).parents[2] / "docs"
PAGES: Mapping[str, Callable[[], str]] = {
    "cdc-faults.md": fault_tables.CDC.page,
    "operation-faults.md": fault_tables.OPERATION.page,
    "protocol-states.md": states.page,
    "protocol-walk.md": walk.page,
    "trials.md": trials.page,
}


def main() -> None:
    for name, page in PAGES.items():
        (DOCS / name).write_text(page())
        print(f"docs/{name}")


if __name__ == "__main__":
    main()
