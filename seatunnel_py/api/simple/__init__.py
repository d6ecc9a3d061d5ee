"""The simple tier: a source or a sink in one class, or in one function. The simple tier is built on the standard
one."""

from __future__ import annotations

from seatunnel_py.api.simple.decorators import simple_sink, simple_source
from seatunnel_py.api.simple.sink import SimpleSink
from seatunnel_py.api.simple.source import SimpleSource, simple_table

__all__ = ["SimpleSink", "SimpleSource", "simple_sink", "simple_source", "simple_table"]
