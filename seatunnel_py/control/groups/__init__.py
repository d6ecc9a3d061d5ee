"""Control groups of drivers."""
