"""Transforms that change columns, one module each."""
