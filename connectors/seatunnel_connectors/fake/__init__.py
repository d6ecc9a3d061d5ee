"""Generated rows, for demonstrations, tests and load."""
