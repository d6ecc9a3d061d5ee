"""The broker's jars: resolved by Maven once, pinned by checksum, kept under `.cache/kafka`.

Maven asks the registry that the machine's own settings name. `python -m tests.servers.kafka.artifacts pin` writes the
checksums anew after the version in pom.xml was changed.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.servers.process import ServerError, find_program

HERE = Path(__file__).parent
CACHE = HERE.parent.parent.parent / ".cache" / "kafka"
PINS = HERE / "jars.sha256"
PACKAGES = {"mvn": "maven", "java": "default-jre-headless"}


def find(program: str) -> Path:
    return find_program(program, PACKAGES[program])


def jars() -> Path:
    """The folder with all jars, fetched where it is not there or not what is pinned."""
    pinned = PINS.read_text()
    wanted = CACHE / hashlib.sha256(pinned.encode()).hexdigest()[:12]
    if wanted.is_dir():
        return wanted
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as made:
        folder = Path(made) / "jars"
        fetch(folder)
        if (found := checksums(folder)) != pinned:
            different = sorted(set(found.splitlines()) ^ set(pinned.splitlines()))
            raise ServerError(f"the registry's Kafka jars are not those of {PINS.name}: {'; '.join(different)}")
        try:
            folder.rename(wanted)
        except OSError:  # another process was faster; its jars have the same checksums
            if not wanted.is_dir():
                raise
    return wanted


def fetch(folder: Path) -> None:
    pom = shutil.copy(HERE / "pom.xml", folder.parent)
    # -C: a jar that does not match the registry's own checksum is refused.
    command = [
        str(find("mvn")), "-B", "-q", "-C", "-f", str(pom), "dependency:copy-dependencies",
        "-DincludeScope=runtime", f"-DoutputDirectory={folder}",
    ]  # fmt: skip
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ServerError(f"Maven could not resolve the Kafka broker:\n{done.stdout[-3000:]}")


def checksums(folder: Path) -> str:
    return "".join(
        f"{hashlib.sha256(jar.read_bytes()).hexdigest()}  {jar.name}\n" for jar in sorted(folder.glob("*.jar"))
    )


if __name__ == "__main__":
    if sys.argv[1:] == ["pin"]:
        with tempfile.TemporaryDirectory() as made:
            fetch(Path(made) / "jars")
            PINS.write_text(checksums(Path(made) / "jars"))
    print(jars())
