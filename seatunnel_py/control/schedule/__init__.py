"""Schedules: when runs of a definition begin without being asked."""
