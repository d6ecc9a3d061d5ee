"""Reads what routes show: files of runs, windows of logs, the state for streams, the text of a job file."""
