"""Runs SeaTunnel's own job files and compares what happens with what should: `python -m e2e.conformance DIR`."""
