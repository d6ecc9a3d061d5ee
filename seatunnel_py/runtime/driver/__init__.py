"""The driver: its event loop, timers, threads, and the ports to the engine."""
