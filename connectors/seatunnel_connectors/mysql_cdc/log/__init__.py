"""Parses the events of a binary log."""
