"""Compares the rows of a job's sources with the rows of its targets; writes nothing."""
