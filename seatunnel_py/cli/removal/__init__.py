"""Removes jobs."""
