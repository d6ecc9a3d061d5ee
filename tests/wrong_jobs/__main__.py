"""Write the golden file anew."""

from __future__ import annotations

from tests.wrong_jobs import EXPECTED, JOBS, read, verdict

EXPECTED.write_text("".join(f"=== {name}\n{verdict(text)}" for name, text in read(JOBS).items()))
