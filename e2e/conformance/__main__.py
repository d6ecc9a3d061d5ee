"""`python -m e2e.conformance DIR [--only SUBSTRING] [--json FILE] [--keep DIRECTORY]`"""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
from pathlib import Path

from e2e.conformance.report import show, totals, write_json
from e2e.conformance.runner import LEFT_OVER_MAX, Judged, Result, judge


def main() -> int:
    """The exit code is 0 as long as no more is left over than the bar allows."""
    parser = argparse.ArgumentParser(prog="python -m e2e.conformance", description=__doc__)
    parser.add_argument("directory", type=Path, help="a conformance directory: index.json, jobs/, data/")
    parser.add_argument("--only", default="", metavar="SUBSTRING", help="only jobs whose path holds this")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the table here")
    parser.add_argument("--keep", type=Path, metavar="DIRECTORY", help="work here, and leave logs and files there")
    arguments = parser.parse_args()
    if arguments.keep and arguments.keep.is_dir() and any(arguments.keep.iterdir()):
        parser.error(f"{arguments.keep} is not empty: what an earlier run left there would be judged as well")
    done: list[Judged] = []
    with contextlib.ExitStack() as stack:
        scratch = arguments.keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="conformance-")))
        scratch.mkdir(parents=True, exist_ok=True)
        for judged in judge(arguments.directory, scratch.absolute(), arguments.only):
            done.append(judged)
            if judged.result is not Result.SKIPPED:
                print(f"{judged.result.value}: {judged.job} ({judged.seconds:.1f} s)", file=sys.stderr, flush=True)
    show(done)
    if arguments.json:
        write_json(done, arguments.json)
        print(f"{totals(done)}; written to {arguments.json}", file=sys.stderr)
    return int(sum(judged.result is Result.LEFT_OVER for judged in done) > LEFT_OVER_MAX)


if __name__ == "__main__":
    sys.exit(main())
