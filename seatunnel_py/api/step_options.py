"""The options that every source, transform and sink has, beside their plugins' own; declared in ``options``."""

from seatunnel_py.api.options import RuleMatchMode, SinkOptions, SourceOptions, TransformOptions

__all__ = ["RuleMatchMode", "SinkOptions", "SourceOptions", "TransformOptions"]
