"""Compares the files of the web page with the checksums that its build has written beside them.

The seal finds a page that was changed or copied by half. Against an attacker who may write there nothing helps: the
signed checksums of a release show whether the wheel is the one that was built.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from seatunnel_py.errors import SeaTunnelError

SEAL = "page.sha256"
_REMEDY = "install this release again; in a checkout run `make page`"


def require_unchanged(folder: Path) -> None:
    """Raise SeaTunnelError for a page that differs from its list. A page that is not built is none."""
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    if not files:
        return
    seal = files.pop(SEAL, None)
    if seal is None:
        raise SeaTunnelError("the web page has no list of checksums, so it may have been changed", _REMEDY)
    lines = (line.partition("  ") for line in seal.read_text(encoding="utf-8").splitlines())
    wanted = {name: found for found, _, name in lines}
    for name in sorted(wanted.keys() | files):
        if name not in files:
            raise SeaTunnelError(f"the web page was changed: its file {name} is gone", _REMEDY)
        if wanted.get(name) != hashlib.sha256(files[name].read_bytes()).hexdigest():
            raise SeaTunnelError(f"the web page was changed: {name} is not as it was built", _REMEDY)
