"""Turns job files into typed options, with a place for every problem."""

from seatunnel_py.config.env import EnvOptions, FailurePolicy, RequiredGuarantee
from seatunnel_py.config.guard import Limits
from seatunnel_py.config.job_file import JobFile, load, loads, resolve_step
from seatunnel_py.config.placeholders import UpstreamNames, expand, expand_options
from seatunnel_py.config.steps import StepNode
from seatunnel_py.config.variables import parse_arguments

__all__ = [
    "EnvOptions",
    "FailurePolicy",
    "JobFile",
    "Limits",
    "RequiredGuarantee",
    "StepNode",
    "UpstreamNames",
    "expand",
    "expand_options",
    "load",
    "loads",
    "parse_arguments",
    "resolve_step",
]
