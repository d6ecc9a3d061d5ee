"""The generated pages of docs/: ``python -m tests.docs.pages`` writes them, a test compares."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from tests.docs import cdc_faults, operation_faults, states, trials, walk

DOCS = Path(__file__).parents[2] / "docs"
PAGES: Mapping[str, Callable[[], str]] = {
    "cdc-faults.md": cdc_faults.page,
    "operation-faults.md": operation_faults.page,
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
