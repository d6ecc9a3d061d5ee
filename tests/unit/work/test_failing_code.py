"""An exception names the plugin's own line, wherever below it was raised."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from seatunnel_py.work.failing_code import FailingCode, described, failing_code

PLUGIN = """
import client_of_nothing

class Reader:
    def read(self):
        yield from self.rows()

    def rows(self):
        yield client_of_nothing.get("customer")
"""
CLIENT = """
def get(name):
    return {}[name]
"""


@pytest.fixture
def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], object]]:
    (tmp_path / "bad_plugin").mkdir()
    (tmp_path / "bad_plugin" / "__init__.py").write_text("")
    (tmp_path / "bad_plugin" / "reader.py").write_text(PLUGIN)
    (tmp_path / "client_of_nothing.py").write_text(CLIENT)
    monkeypatch.syspath_prepend(tmp_path)
    yield lambda: list(importlib.import_module("bad_plugin.reader").Reader().read())
    for name in ("bad_plugin", "bad_plugin.reader", "client_of_nothing"):
        sys.modules.pop(name, None)


def test_the_place_is_the_innermost_line_of_the_plugin(read: Callable[[], object]) -> None:
    """P2-F5. Not that of a library that it calls, which its author has not written, and no path of a machine."""
    error = raised_by(read)

    assert failing_code(error) == FailingCode("Reader.read", "bad_plugin/reader.py:9")
    said = "read of the plugin Bad failed: KeyError: 'customer' (bad_plugin/reader.py:9)"
    assert described(error, "Bad") == said


def test_an_exception_of_other_code_has_no_place() -> None:
    """Its text stands as it is, unless the caller knows what it has called."""
    error = raised_by(lambda: json.loads("{"))

    assert failing_code(error) is None
    assert described(error).startswith("JSONDecodeError: Expecting")
    assert described(error, "Bad").startswith("at a step of the plugin Bad: JSONDecodeError: Expecting")
    assert described(error, "Bad", "commit").startswith("commit of the plugin Bad failed: JSONDecodeError: Expecting")


def raised_by(call: Callable[[], object]) -> BaseException:
    """As the engine catches it: this module stands in no trace."""
    try:
        call()
    except Exception as error:  # noqa: BLE001 - whatever it is
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_globals["__name__"] == __name__:
            trace = trace.tb_next
        return error.with_traceback(trace)
    raise AssertionError("nothing was raised")
