"""Helpers of several transforms."""
