"""Geometry of plans: for the picture of `plan --svg`, and for the graph of a run on the page."""
