"""Finds plugins, loads them, and calls them while a job is planned."""
