"""The driver: the only loop, and the ports through which it performs what was decided."""
