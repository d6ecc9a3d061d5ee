"""Follows the definitions of captured tables through the log."""
