"""Starts and restores: claims the job, compares its files, prepares each pipeline."""
