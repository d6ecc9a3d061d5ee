"""Rows to messages: one module per format."""
