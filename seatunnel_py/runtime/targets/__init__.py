"""Calls to sinks: set-up, commit, abort, and their batches."""
