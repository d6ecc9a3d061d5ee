"""The wheel as a release has it: built in a folder of its own, and opened (A29)."""

from __future__ import annotations

import hashlib
import importlib.util
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = "seatunnel_py/web/page/"
BYTES_MAX = 1_500_000


def test_a29_the_wheel_has_the_page(tmp_path: Path) -> None:
    """Its start, each script and style that the start names, all of them in RECORD, within 1.5 MB; and no source of it,
    so that a machine without Node can show it."""
    _page_is_built()
    words = [str(Path(sys.executable).with_name("uv")), "build", "--quiet", "--wheel", "--out-dir", str(tmp_path)]
    subprocess.run([*words, str(ROOT)], check=True)
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        names = wheel.namelist()
        bundle = {name: wheel.getinfo(name).file_size for name in names if name.startswith(PAGE)}
        record = wheel.read(next(name for name in names if name.endswith(".dist-info/RECORD"))).decode()
        start = wheel.read(f"{PAGE}index.html").decode()
    built = {path.relative_to(ROOT).as_posix() for path in (ROOT / PAGE).rglob("*") if path.is_file()}
    assert set(bundle) == built
    assert [name for name in bundle if f"\n{name},sha256=" not in f"\n{record}"] == []
    assert sum(bundle.values()) <= BYTES_MAX
    named = [name for name in bundle if name.removeprefix(PAGE) in start]
    assert {Path(name).suffix for name in named} >= {".js", ".css"}
    assert [name for name in names if name.endswith((".tsx", ".ts")) or "node_modules" in name] == []


def test_t19_a_release_is_built_the_same_twice_and_its_checksums_find_a_change(tmp_path: Path) -> None:
    """From the outside: `sha256sum` and `ssh-keygen`, as a user of a release has them."""
    _page_is_built()
    key, target = tmp_path / "key", tmp_path / "dist"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "release", "-f", str(key)], check=True)
    words = [sys.executable, str(ROOT / "release/build.py"), str(target), "--sign", str(key)]
    subprocess.run(words, check=True, capture_output=True)
    assert sorted(path.suffix for path in target.iterdir()) == ["", ".gz", ".sig", ".whl"]
    wheel = next(target.glob("*.whl"))
    with zipfile.ZipFile(wheel) as opened:
        listed = opened.read(f"{PAGE}page.sha256").decode()
        assert listed.splitlines() and all(
            hashlib.sha256(opened.read(PAGE + name)).hexdigest() == found
            for found, name in (line.split("  ", 1) for line in listed.splitlines())
        )

    (tmp_path / "signers").write_text(f"release {key.with_suffix('.pub').read_text()}")
    verify = ["ssh-keygen", "-Y", "verify", "-f", str(tmp_path / "signers"), "-I", "release", "-n", "seatunnel-py"]
    verify += ["-s", str(target / "SHA256SUMS.sig")]
    sums = (target / "SHA256SUMS").read_bytes()
    compare = ["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"]
    assert subprocess.run(verify, input=sums, check=False).returncode == 0
    assert subprocess.run(compare, cwd=target, check=False).returncode == 0

    wheel.write_bytes(wheel.read_bytes().replace(b"PK", b"PX", 1))
    assert subprocess.run(compare, cwd=target, check=False).returncode != 0
    assert subprocess.run(verify, input=sums.replace(b"0", b"1", 1), check=False).returncode != 0


def _page_is_built() -> None:
    """Build the page, as the wheel does. Skips where it is not there and no Node can be had."""
    about = importlib.util.spec_from_file_location("page_build", ROOT / "page/build.py")
    assert about is not None and about.loader is not None
    build = importlib.util.module_from_spec(about)
    about.loader.exec_module(build)
    if build.is_fresh():
        return
    if build.machines_node() is None:
        try:
            build.own_node()
        except (subprocess.CalledProcessError, OSError, StopIteration):
            pytest.skip("the page is not built, and Node 20 is neither installed nor can be installed")
    build.build()
