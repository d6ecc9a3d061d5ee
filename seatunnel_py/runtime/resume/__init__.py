"""Starts and restores of a job: claims it, compares its job files, prepares each pipeline."""
