"""Ends of drivers that are forced."""
