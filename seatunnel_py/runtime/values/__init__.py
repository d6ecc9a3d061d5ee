"""Pure values and decisions of a running pipeline."""
