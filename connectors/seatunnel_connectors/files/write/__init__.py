"""Writes files: one unit's files are staged, and renamed into place by the commit."""
