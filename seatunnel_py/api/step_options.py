"""The older home of the step options; they stand in ``options``."""

from seatunnel_py.api.options import RuleMatchMode, SinkOptions, SourceOptions, TransformOptions

__all__ = ["RuleMatchMode", "SinkOptions", "SourceOptions", "TransformOptions"]
