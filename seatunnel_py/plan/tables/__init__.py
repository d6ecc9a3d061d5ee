"""Answers questions about single tables: conversions, existing rows, collisions of targets."""
