"""Builds a release into `dist/`: `python release/build.py [DIRECTORY] [--sign KEY]`.

Rules. (1) The wheel is built twice, in copies of the commit, and both must be equal: anybody can build it again and
compare. Times in it are that of the commit, or `SOURCE_DATE_EPOCH`. (2) `SHA256SUMS` has the checksum of each file, as
`sha256sum --check` reads it. (3) With a key of SSH the list is signed; `ssh-keygen -Y verify` checks it.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SUMS = "SHA256SUMS"
NAMESPACE = "seatunnel-py"


class ReleaseError(Exception):
    """The release is not as it must be."""


def build(source: Path, target: Path, epoch: str) -> Sequence[Path]:
    """Build wheel and sdist of a source tree. Return the files. Raises ReleaseError if a second wheel differs."""
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        made = [_built(source, Path(folder) / name, epoch, *kinds) for name, kinds in _BUILDS.items()]
        files = [path for one in made[:1] for path in one]
        first, second = (next(path for path in one if path.suffix == ".whl") for one in made)
        if first.name != second.name or sum_of(first) != sum_of(second):
            raise ReleaseError(f"two builds of {first.name} differ: {sum_of(first)} and {sum_of(second)}")
        return [path.replace(target / path.name) for path in files]


_BUILDS = {"first": ("--wheel", "--sdist"), "second": ("--wheel",)}


def _built(source: Path, target: Path, epoch: str, *kinds: str) -> Sequence[Path]:
    uv = str(Path(sys.executable).with_name("uv"))
    words = [uv, "build", "--quiet", "--no-create-gitignore", *kinds, "--out-dir", str(target), str(source)]
    subprocess.run(words, check=True, env={**os.environ, "SOURCE_DATE_EPOCH": epoch})
    return sorted(target.iterdir())


def epoch_of(source: Path) -> str:
    """Seconds of the commit, or those that the environment gives."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    words = ["git", "-C", str(source), "log", "-1", "--format=%ct"]
    return given or subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()


def sum_of(file: Path) -> str:
    """The checksum of a file."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def write_sums(files: Sequence[Path], target: Path) -> Path:
    """Write the list of checksums."""
    sums = target / SUMS
    sums.write_text("".join(f"{sum_of(file)}  {file.name}\n" for file in sorted(files)))
    return sums


def sign(sums: Path, key: Path) -> Path:
    """Sign the list; the signature is beside it."""
    signature = sums.with_name(f"{sums.name}.sig")
    signature.unlink(missing_ok=True)
    subprocess.run(["ssh-keygen", "-q", "-Y", "sign", "-f", str(key), "-n", NAMESPACE, str(sums)], check=True)
    return signature


def main() -> int:
    """Build, list and sign."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("directory", nargs="?", type=Path, default=ROOT / "dist")
    parser.add_argument("--sign", type=Path, metavar="KEY", help="a private key of SSH")
    given = parser.parse_args()
    try:
        files = build(ROOT, given.directory, epoch_of(ROOT))
    except ReleaseError as error:
        print(error, file=sys.stderr)
        return 1
    sums = write_sums(files, given.directory)
    written = [sums, sign(sums, given.sign)] if given.sign else [sums]
    print("\n".join(str(path) for path in (*files, *written)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
