"""Older commits of this project, checked out and installed under `.cache/commits/` with the packages that they locked."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
COMMITS = ROOT / ".cache" / "commits"


def installed(commit: str) -> Path:
    """The directory of commands of an older commit, which is installed when it is asked for the first time."""
    sha = _output("git", "rev-parse", "--verify", f"{commit}^{{commit}}")
    tree = COMMITS / sha
    if not tree.exists():
        _output("git", "worktree", "prune")
        _output("git", "worktree", "add", "--detach", str(tree), sha)
    subprocess.run(["make", "setup"], cwd=tree, check=True)
    compiled(tree)
    return tree / ".venv" / "bin"


def compiled(tree: Path) -> None:
    """No side compiles its modules at every start, as one does whose files have changed since it was installed."""
    packages = ("seatunnel_py", "connectors", "plugins")
    subprocess.run([tree / ".venv" / "bin" / "python", "-m", "compileall", "-q", *packages], cwd=tree, check=True)


def _output(*command: str) -> str:
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
