"""Settings files of tests."""

from __future__ import annotations

from pathlib import Path

from seatunnel_py.control.notify.target_settings import NotifySettings, NotifyTarget, read_settings

SECRET = "whsec_" + "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
OTHER_SECRET = "whsec_" + "A" * 40
ENVIRONMENT = {"HOOK_SECRET": SECRET, "OLD_SECRET": OTHER_SECRET, "CHAT_URL": "https://chat.example.com/x"}


def written(folder: Path, targets: str, more: str = "") -> Path:
    """A file with these targets, which may be on this machine."""
    file = folder / "server.conf"
    file.write_text(f'notify {{ allow = ["127.0.0.1"], group-seconds = 0, {more}\n targets {{ {targets} }} }}')
    return file


def hook(name: str, port: int, more: str = "") -> str:
    """A target that is a webhook on this machine."""
    return (
        f'{name} {{ type = webhook, url = "http://127.0.0.1:{port}/hook", secret = "${{env:HOOK_SECRET}}", {more} }}\n'
    )


def settings_of(folder: Path, targets: str, more: str = "", **environment: str) -> NotifySettings:
    """The settings in such a file."""
    return read_settings(written(folder, targets, more), {**ENVIRONMENT, **environment})


def target_of(folder: Path, text: str, **environment: str) -> NotifyTarget:
    """The only target of such a file."""
    (target,) = settings_of(folder, text, **environment).targets.values()
    return target
