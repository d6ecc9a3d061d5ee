"""A certificate for a server of a test: its own authority, for the name localhost."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from shutil import which

import pytest


def make_certificate(folder: Path) -> tuple[Path, Path]:
    """Write the key and the certificate into a server's folder, for its owner; skip the test where that is impossible."""
    if which("openssl") is None:
        pytest.skip("openssl, which makes the server's certificate, is not installed")
    key, certificate = folder / "server.key", folder / "server.crt"
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost".split()
    names = ["-addext", "subjectAltName=DNS:localhost"]
    subprocess.run([*command, *names, "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True)
    owner = folder.stat()
    for path in (key, certificate):
        path.chmod(0o600)
        os.chown(path, owner.st_uid, owner.st_gid)
    return key, certificate
