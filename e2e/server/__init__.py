"""The control plane of ``seatunnel server`` on real processes."""
