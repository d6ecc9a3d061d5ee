"""Storages for checkpoints, beside the directory that every job has."""
