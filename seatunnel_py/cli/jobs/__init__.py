"""The commands `jobs`, `quarantine` and `state`: looking at jobs, and asking things of them."""
