"""Options of steps, declared as pydantic models."""

from __future__ import annotations

from seatunnel_py.api.options.model import JOB_FILE, OptionInfo, Options, Secret, describe, option, secret_texts
from seatunnel_py.api.options.step import NO_TABLE, RuleMatchMode, SinkOptions, SourceOptions, TransformOptions

__all__ = [
    "JOB_FILE",
    "NO_TABLE",
    "OptionInfo",
    "Options",
    "RuleMatchMode",
    "Secret",
    "SinkOptions",
    "SourceOptions",
    "TransformOptions",
    "describe",
    "option",
    "secret_texts",
]
