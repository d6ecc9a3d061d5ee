"""Holds one module per command."""
