"""Notifications: which events of runs are reported, to which targets, and how they get there."""
