"""Rows of a pipeline, counted by table and target."""
