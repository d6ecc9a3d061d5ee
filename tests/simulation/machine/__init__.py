"""Checks of one pipeline's machine in one driver: its events, effects, phases and staged rows."""
