"""Plugins that are not connectors: transforms, and what else may be plugged in."""
