"""Decodes row images, a column at a time."""
