"""Checks of the protocol's invariants, over all drivers of a pipeline: each is named after its invariant."""
