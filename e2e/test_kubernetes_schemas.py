"""The manifests against the JSON schemas of Kubernetes, from a package that carries those of each version. It gets a
folder of its own: it has 17,000 files, and no other test needs it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

VALIDATOR = "kubernetes-validate==1.37.0"
VERSIONS = ("1.30.0", "1.33.0", "1.37.0")
FILES = sorted((Path(__file__).parents[1] / "schedulers" / "kubernetes").glob("*.yaml"))
INSTALL_SECONDS, RUN_SECONDS = 600, 120


@pytest.fixture(scope="module")
def validator(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("validator")
    uv = str(Path(sys.executable).with_name("uv"))
    words = [uv, "pip", "install", "--quiet", "--python", sys.executable, "--target", str(folder), VALIDATOR]
    subprocess.run(words, check=True, timeout=INSTALL_SECONDS)
    return folder


def complaints(validator: Path, version: str, *files: Path) -> str:
    words = [sys.executable, "-m", "kubernetes_validate", "--strict", "--quiet", "-k", version, *map(str, files)]
    environment = {**os.environ, "PYTHONPATH": str(validator)}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=RUN_SECONDS, check=False)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout + done.stderr + ("failed" if done.returncode else "")


@pytest.mark.parametrize("version", VERSIONS)
def test_the_manifests_are_valid(validator: Path, version: str) -> None:
    """Strictly: a key that Kubernetes does not know is wrong, too."""
    assert complaints(validator, version, *FILES) == ""


def test_a_wrong_manifest_is_found(validator: Path, tmp_path: Path) -> None:
    """The check can fail."""
    stream = next(one for one in FILES if one.name == "stream.yaml")
    broken = tmp_path / "stream.yaml"
    broken.write_text(stream.read_text().replace("replicas: 1", "replicaz: 1"))
    assert "'replicaz' was unexpected" in complaints(validator, VERSIONS[-1], broken)
